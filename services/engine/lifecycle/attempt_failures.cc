#include "services/engine/lifecycle/attempt_failures.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "services/base/text/strings.h"

namespace pitwall::engine {
namespace {

// An operator who ends a job signals all of its ranks simultaneously. A single SIGTERM counts as a
// death, but is reported after a delay, during which a second SIGTERM may arrive.
constexpr Duration kOneSignal = Duration::Millis(1500);
constexpr Duration kCancelWithin = Duration::Seconds(5);
// After a rank dies, its peers fail in their collective operation. Because clocks differ between
// nodes, a peer's failure may even appear to precede the rank's death.
constexpr Duration kPeersFail = Duration::Millis(100);
// Maximum delay between a peer's failure and the time when the collector on the same node sees the
// kill that caused it. Before a launcher kills the other ranks, it must see the failed rank's
// process end.
constexpr Duration kSeenLate = Duration::Millis(50);
// Maximum delay before a collector sees an exit status that the launcher has already seen. The
// launcher then ends the other ranks with SIGTERM.
constexpr Duration kStatusLate = Duration::Millis(400);
// Maximum delay between a peer's report that a rank was lost and the observed end of that rank. A
// process may exit after its connections have closed, or a different node may report its end.
constexpr Duration kLostPeerLate = Duration::Seconds(2);
// Delay from the verdict to a rule's tick.
constexpr Duration kTick = Duration::Millis(500);
// Bits in saved state.
constexpr uint8_t kHasFirst = 1, kHasStop = 2, kHasPlatform = 4, kExpectsPlatform = 8,
                  kHasWrittenCause = 16, kGone = 32, kHasStoppedBy = 64, kHasException = 128;

// Parts of error messages from gloo, NCCL, and sockets that report the loss of another rank.
constexpr std::array<std::string_view, 9> kLostPeer = {
    "closed by peer",        "closed by remote peer",       "reset by peer",
    "remote process exited", "remote process exiting",      "remote worker",
    "remote server",         "onnection was likely closed", "Broken pipe"};

// Returns whether the rank failed because another rank was gone.
bool ReportsLostPeer(const RankDeath& death) {
  return death.reported_failure && std::any_of(kLostPeer.begin(), kLostPeer.end(), [&](auto part) {
           return death.exception.find(part) != std::string::npos;
         });
}

// Returns whether a launcher may have ended the other ranks because it saw this rank end. An
// exception alone does not count. It is reported before the process ends, so it never arrives after
// the SIGTERM that the launcher sends to the other ranks.
bool IsFailure(const RankDeath& death) {
  return SignalOf(death).has_value() || death.exit_code.value_or(0) != 0;
}

// Returns whether `death` caused `first`, even though it was observed later.
bool IsEffectOf(const RankDeath& death, const RankDeath& first) {
  if (IsTerminated(death) || ReportsLostPeer(death)) return false;
  const Duration later = death.at - first.at;
  if (ReportsLostPeer(first)) return later <= kLostPeerLate;
  return IsTerminated(first) && IsFailure(death) && later <= kStatusLate;
}

// Returns whether `death`, observed slightly later, caused the failure that `first` reported about
// itself.
bool FailedOf(const RankDeath& death, const RankDeath& first) {
  if (!first.reported_failure || death.reported_failure || IsTerminated(death)) return false;
  const Duration later = death.at - first.at;
  if (death.node != first.node || IsCrash(death)) return later <= kPeersFail;
  return SignalOf(death).has_value() && later <= kSeenLate;
}

}  // namespace

void AttemptFailures::Add(RankDeath death) {
  ++count_;
  if (!first_.has_value()) {
    first_at_ = death.at;
    terminated_ = IsTerminated(death) ? 1 : 0;
    first_ = std::move(death);
    return;
  }
  if (IsTerminated(*first_) && IsTerminated(death) && death.at - first_at_ <= kCancelWithin)
    ++terminated_;
  if (written_) return;
  if (IsEffectOf(death, *first_)) {
    terminated_ = 0;
    first_ = std::move(death);
  } else if (FailedOf(death, *first_)) {
    first_ = std::move(death);
  }
}

EventTime AttemptFailures::JudgedAt() const {
  if (stop_.Covers(first_at_)) return first_->at;
  if (platform_.received()) return std::max(first_->at, platform_.at());
  // A crash is reported without waiting for the platform.
  if (expects_platform_ && !IsCrash(*first_))
    return first_at_ + (gone_ ? kPlatformWaitIfGone : kPlatformWait);
  if (ReportsLostPeer(*first_)) return first_->at + kLostPeerLate;
  if (first_->reported_failure) return first_->at + kPeersFail;
  if (IsTerminated(*first_)) return first_->at + (terminated_ < 2 ? kOneSignal : kStatusLate);
  return first_->at;
}

EventTime AttemptFailures::decided_by() const {
  if (!first_.has_value()) return EventTime::Min();
  const Duration waits = waits_for_platform() ? kPlatformEndWait : kOneSignal;
  return std::max(first_at_ + waits + kTick, seen_by());
}

EventTime AttemptFailures::seen_by() const {
  return first_.has_value() ? JudgedAt() + kTick : EventTime::Min();
}

bool AttemptFailures::cancelled() const {
  return first_.has_value() &&
         (terminated_ >= 2 || stop_.Covers(first_at_) || platform_.OnPurpose(*first_));
}

std::string AttemptFailures::Cause() const {
  if (stop_.Covers(first_at_)) return "stopped by the executor";
  return platform_.Cause(*first_);
}

Labels AttemptFailures::Series(std::string_view cause, bool cancelled) const {
  return Labels({{kMetricName, kLost},
                 {"rank", Cat(first_->rank)},
                 {"node", first_->node},
                 {"cause", cause},
                 {"verdict", cancelled ? "cancelled" : "died"},
                 {"exception", cause == kException ? std::string_view(first_->exception) : ""}});
}

AttemptFailures::Values AttemptFailures::Judge(EventTime now) {
  Values values;
  if (!first_.has_value() || now < JudgedAt()) return values;
  const bool cancelled = this->cancelled();
  std::string cause = Cause();
  if (!written_ || cancelled != cancelled_ || cause != written_cause_) {
    if (written_) values.emplace_back(Series(written_cause_, cancelled_), 0);
    cancelled_ = cancelled;
    written_cause_ = std::move(cause);
    written_ = true;
    values.emplace_back(Series(written_cause_, cancelled_), 1);
  }
  if (count_ != written_count_) {
    written_count_ = count_;
    values.emplace_back(Labels({{kMetricName, kCount}}), static_cast<double>(count_));
  }
  return values;
}

void AttemptFailures::Save(BinaryWriter& out) const {
  // This byte was a bool before announcements existed. The encoding of a value without an
  // announcement is unchanged.
  const bool other_cause = written_ && written_cause_ != Cause();
  out.U8((first_.has_value() ? kHasFirst : 0) | (stop_.at().has_value() ? kHasStop : 0) |
         (platform_.received() ? kHasPlatform : 0) | (expects_platform_ ? kExpectsPlatform : 0) |
         (other_cause ? kHasWrittenCause : 0) | (gone_ ? kGone : 0) |
         (stop_.by().empty() ? 0 : kHasStoppedBy) |
         (first_.has_value() && !first_->exception.empty() ? kHasException : 0));
  if (stop_.at().has_value()) out.I64(stop_.at()->ns());
  if (platform_.received()) platform_.Save(out);
  if (other_cause) out.Str(written_cause_);
  if (!stop_.by().empty()) out.Str(stop_.by());
  if (!first_.has_value()) return;
  out.I64(first_->at.ns());
  out.I64(first_->rank);
  out.Str(first_->node);
  for (const std::optional<int32_t>& number : {first_->signal, first_->exit_code}) {
    out.Bool(number.has_value());
    out.I64(number.value_or(0));
  }
  out.Bool(first_->oom_killed);
  out.Bool(first_->reported_failure);
  out.I64(first_at_.ns());
  for (const uint64_t count : {count_, terminated_, written_count_}) out.U64(count);
  out.Bool(written_);
  out.Bool(cancelled_);
  if (!first_->exception.empty()) out.Str(first_->exception);
}

void AttemptFailures::Restore(BinaryReader& in) {
  Clear();
  const uint8_t has = in.U8();
  if ((has & kHasStop) != 0) stop_.Announce(EventTime::FromNs(in.I64()));
  if ((has & kHasPlatform) != 0) platform_.Restore(in);
  expects_platform_ = (has & kExpectsPlatform) != 0;
  gone_ = (has & kGone) != 0;
  if ((has & kHasWrittenCause) != 0) written_cause_ = in.Str();
  if ((has & kHasStoppedBy) != 0) stop_.NameBy(in.Str());
  if ((has & kHasFirst) == 0 || !in.ok()) return;
  RankDeath& first = first_.emplace();
  first.at = EventTime::FromNs(in.I64());
  first.rank = in.I64();
  first.node = in.Str();
  for (std::optional<int32_t>* number : {&first.signal, &first.exit_code}) {
    const bool known = in.Bool();
    const auto value = static_cast<int32_t>(in.I64());
    if (known) *number = value;
  }
  first.oom_killed = in.Bool();
  first.reported_failure = in.Bool();
  first_at_ = EventTime::FromNs(in.I64());
  for (uint64_t* count : {&count_, &terminated_, &written_count_}) *count = in.U64();
  written_ = in.Bool();
  cancelled_ = in.Bool();
  if ((has & kHasException) != 0) first.exception = in.Str();
  if (written_ && (has & kHasWrittenCause) == 0) written_cause_ = Cause();
}

}  // namespace pitwall::engine
