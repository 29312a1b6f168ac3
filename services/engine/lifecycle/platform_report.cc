#include "services/engine/lifecycle/platform_report.h"

#include "services/base/text/strings.h"

namespace pitwall::engine {
namespace {

constexpr int32_t kSigkill = 9;
constexpr int32_t kSigterm = 15;
constexpr int32_t kShellOffset = 128;

}  // namespace

std::optional<int32_t> SignalOf(const RankDeath& death) {
  if (death.signal.has_value()) return death.signal;
  const int32_t code = death.exit_code.value_or(0);
  if (code == kShellOffset + kSigkill || code == kShellOffset + kSigterm)
    return code - kShellOffset;
  return std::nullopt;
}

bool IsCrash(const RankDeath& death) {
  const auto signal = SignalOf(death);
  return death.oom_killed || (signal.has_value() && *signal != kSigkill && *signal != kSigterm);
}

bool IsTerminated(const RankDeath& death) {
  return !death.oom_killed && SignalOf(death) == kSigterm;
}

std::string CauseOf(const RankDeath& death) {
  if (death.oom_killed) return "out of memory";
  if (!death.exception.empty()) return std::string(kException);
  if (const auto signal = SignalOf(death)) return Cat("signal ", *signal);
  if (death.exit_code.has_value()) return Cat("exit code ", *death.exit_code);
  return death.reported_failure ? std::string(kException) : "unknown";
}

void PlatformReport::Receive(EventTime at, const PlatformEnd& end, bool alone) {
  if (end_ == end) return;                                  // A repeated report.
  if (end_ && end_->on_purpose && !end.on_purpose) return;  // A consequence of the earlier report.
  if (end_ && !end_->rank && end.rank && !end.on_purpose)
    return;  // The report about the whole job takes precedence.
  end_ = end;
  at_ = at;
  alone_ = alone;
}

bool PlatformReport::OnPurpose(const RankDeath& death) const {
  if (!end_) return false;
  // If the platform reports the job as completed, a rank that ended by SIGTERM was stopped on
  // purpose.
  const bool completed = end_->exit_code == 0 && !end_->oom_killed && !end_->rank;
  if (!end_->on_purpose && !(completed && IsTerminated(death))) return false;
  if (death.at >= at_) return end_->on_purpose && death.at - at_ <= kTerminatedWithin;
  if (IsCrash(death)) return false;
  return at_ - death.at <= (IsTerminated(death) ? kTerminatedWithin : kEndedWithin);
}

std::string PlatformReport::Cause(const RankDeath& death) const {
  const std::string seen = CauseOf(death);
  if (!end_) return seen;
  if (OnPurpose(death)) return end_->on_purpose && !end_->cause.empty() ? end_->cause : seen;
  if (end_->on_purpose || (end_->rank && *end_->rank != death.rank)) return seen;
  if (at_ < death.at || at_ - death.at > kExplainedWithin) return seen;
  const auto signal = SignalOf(death);
  const bool open = seen == "unknown" || (!death.reported_failure && (signal == kSigkill));
  if (!open) return seen;
  if (end_->oom_killed) return "out of memory";
  if (!end_->cause.empty()) return end_->cause;
  const std::string reported = TextOf(*end_);
  if (seen != "unknown" || reported.empty() || end_->exit_code == 0) return seen;
  return alone_ || end_->rank ? reported : Cat("unknown; its job ended with ", reported);
}

void PlatformReport::Save(BinaryWriter& out) const {
  out.I64(at_.ns());
  out.Bool(alone_);
  for (const std::optional<int32_t>& number : {end_->signal, end_->exit_code}) {
    out.Bool(number.has_value());
    out.I64(number.value_or(0));
  }
  out.Bool(end_->oom_killed);
  out.Bool(end_->on_purpose);
  out.Str(end_->cause);
  out.I64(end_->rank.value_or(-1));
}

void PlatformReport::Restore(BinaryReader& in) {
  at_ = EventTime::FromNs(in.I64());
  alone_ = in.Bool();
  PlatformEnd& end = end_.emplace();
  for (std::optional<int32_t>* number : {&end.signal, &end.exit_code}) {
    const bool known = in.Bool();
    const auto value = static_cast<int32_t>(in.I64());
    if (known) *number = value;
  }
  end.oom_killed = in.Bool();
  end.on_purpose = in.Bool();
  end.cause = in.Str();
  if (const int64_t rank = in.I64(); rank >= 0) end.rank = rank;
}

}  // namespace pitwall::engine
