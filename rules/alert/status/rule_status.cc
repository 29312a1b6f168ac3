#include "rules/alert/status/rule_status.h"

#include <algorithm>
#include <cstring>

#include "rules/alert/element_lookup.h"
#include "rules/alert/label_codec.h"
#include "services/base/text/strings.h"

namespace pitwall::alert {
namespace {

constexpr uint8_t kFormat = 1;        // of InputWatch
constexpr uint8_t kStatusFormat = 4;  // of RuleStatusMachine; 3 has no first tick, 2 has no times
constexpr size_t kNamesInReason = 5;

bool IsCalm(RuleStatus status) {
  return status == RuleStatus::kNoIssuesFound || status == RuleStatus::kInProgress;
}

}  // namespace

void InputWatch::Rebind(const eval::Vector& subject) {
  const size_t n = subject.size();
  const eval::LabelColumn& now = *subject.column;
  std::vector<uint8_t> seen(n, 0);
  const size_t before = column_ == nullptr ? 0 : column_->size();
  std::vector<Labels> lost;
  size_t j = 0;
  for (size_t i = 0; i < before; ++i) {
    if (seen_[i] == 0) continue;
    const Labels& labels = (*column_)[i];
    // Equal label sets from one evaluator are the same object, so usually no comparison is needed.
    while (j < n && &now[j] != &labels && now[j] < labels) ++j;
    if (j < n && (&now[j] == &labels || now[j] == labels)) {
      seen[j] = 1;
    } else {
      lost.push_back(labels);
    }
  }
  // Removes the elements that the store has dropped and added again.
  std::erase_if(gone_, [&](const Labels& labels) {
    const int64_t place = now.Find(labels);
    if (place < 0) return false;
    seen[static_cast<size_t>(place)] = 1;
    return true;
  });
  for (Labels& labels : lost) {
    if (gone_.size() >= max_gone_) break;
    gone_.push_back(std::move(labels));
  }
  std::sort(gone_.begin(), gone_.end());
  column_ = subject.column;
  seen_ = std::move(seen);
  present_.assign(n, 0);
}

void InputWatch::Update(const eval::Vector& subject) {
  if (column_ != subject.column) {
    Rebind(subject);
    counted_ = false;
  }
  const size_t n = present_.size();
  // Most ticks have the same elements as the previous tick.
  if (n > 0 && std::memcmp(present_.data(), subject.present.data(), n) == 0 && counted_) return;
  counted_ = true;
  size_t missing_count = 0;
  for (size_t i = 0; i < n; ++i) {
    const auto there = static_cast<uint8_t>(subject.present[i] != 0);
    present_[i] = there;
    seen_[i] |= there;
    missing_count += static_cast<size_t>(seen_[i] ^ there);
  }
  missing_count_ = missing_count + gone_.size();
}

void InputWatch::AttemptEnded() {
  std::fill(seen_.begin(), seen_.end(), 0);
  std::fill(present_.begin(), present_.end(), 0);
  gone_.clear();
  missing_count_ = 0;
  counted_ = false;
}

bool InputWatch::IsMissing(const Labels& labels) const {
  if (missing_count_ == 0) return false;
  for (size_t i = 0; i < seen_.size(); ++i) {
    if (seen_[i] != 0 && present_[i] == 0 && Agree(labels, (*column_)[i])) return true;
  }
  return std::any_of(gone_.begin(), gone_.end(),
                     [&](const Labels& gone) { return Agree(labels, gone); });
}

std::vector<Labels> InputWatch::Names(size_t max) const {
  std::vector<Labels> out(gone_.begin(),
                          gone_.begin() + static_cast<std::ptrdiff_t>(std::min(max, gone_.size())));
  // Both lists are sorted, so the first `max` elements of the merged list are among the first `max`
  // of each.
  size_t more = 0;
  for (size_t i = 0; i < seen_.size() && more < max; ++i) {
    if (seen_[i] == 0 || present_[i] != 0) continue;
    out.push_back((*column_)[i]);
    ++more;
  }
  std::sort(out.begin(), out.end());
  if (out.size() > max) out.resize(max);
  return out;
}

void InputWatch::Save(BinaryWriter& out) const {
  out.U8(kFormat);
  out.U64(static_cast<uint64_t>(std::count(seen_.begin(), seen_.end(), 1)));
  LabelsWriter labels(out);
  for (size_t i = 0; i < seen_.size(); ++i) {
    if (seen_[i] == 0) continue;
    labels.Write((*column_)[i]);
    out.Bool(present_[i] != 0);
  }
  out.U64(gone_.size());
  for (const Labels& gone : gone_) labels.Write(gone);
}

void InputWatch::Restore(BinaryReader& in) {
  column_ = nullptr;
  seen_.clear();
  present_.clear();
  gone_.clear();
  missing_count_ = 0;
  if (in.U8() != kFormat) in.Fail();
  const size_t n = in.Count(3);
  LabelsReader reader(in);
  std::vector<Labels> labels;
  std::vector<uint8_t> present;
  for (size_t i = 0; i < n && in.ok(); ++i) {
    labels.push_back(reader.Read());
    present.push_back(in.Bool());
    if (i > 0 && !(labels[i - 1] < labels[i])) in.Fail();
  }
  const size_t gone = in.Count(2);
  std::vector<Labels> gone_labels;
  for (size_t i = 0; i < gone && in.ok(); ++i) {
    gone_labels.push_back(reader.Read());
    if (i > 0 && !(gone_labels[i - 1] < gone_labels[i])) in.Fail();
  }
  if (!in.ok()) return;
  // The watch uses its own column until the next tick provides the evaluator's.
  column_ = eval::LabelColumn::Of(std::move(labels));
  seen_.assign(present.size(), 1);
  present_ = std::move(present);
  gone_ = std::move(gone_labels);
  missing_count_ =
      gone_.size() + static_cast<size_t>(std::count(present_.begin(), present_.end(), uint8_t{0}));
}

RuleStatusMachine::RuleStatusMachine(std::vector<std::string> needs)
    : needs_(std::move(needs)), met_once_(needs_.size(), 0), open_(needs_.empty()) {}

bool RuleStatusMachine::Gate(std::span<const uint8_t> needs_met) {
  if (open_) return true;
  open_ = true;
  for (size_t i = 0; i < met_once_.size(); ++i) {
    if (i < needs_met.size() && needs_met[i] != 0) met_once_[i] = 1;
    open_ = open_ && met_once_[i] != 0;
  }
  return open_;
}

std::optional<StatusChange> RuleStatusMachine::Update(const StatusInput& input) {
  if (input.error) return Become(RuleStatus::kError, input.error_message, input.time_ns);
  if (input.firing > 0) {
    ever_found_ = true;
    return Become(RuleStatus::kIssuesFound, "", input.time_ns);
  }
  bool unmet = false;
  for (const uint8_t met : input.needs_met) unmet |= met == 0;
  const size_t missing_count = input.inputs == nullptr ? 0 : input.inputs->missing_count();
  if (unmet || !open_ || missing_count > 0) {
    // The reason is built only if input is missing. Become compares it with the last one.
    std::string reason;
    for (size_t i = 0; i < needs_.size(); ++i) {
      const bool missing =
          i < input.needs_met.size() ? input.needs_met[i] == 0 : !open_ && met_once_[i] == 0;
      if (missing) CatTo(reason, reason.empty() ? "no series of " : ", ", needs_[i]);
    }
    // Sources may send a step rule's needs before any step has been evaluated with them.
    for (size_t i = 0; reason.empty() && missing_count == 0 && i < needs_.size(); ++i) {
      if (met_once_[i] == 0) reason = Cat("no evaluation with ", needs_[i], " yet");
    }
    if (missing_count > 0) {
      CatTo(reason, reason.empty() ? "" : "; ", "without input");
      const std::vector<Labels> names = input.inputs->Names(kNamesInReason);
      // If an aggregation dropped the series' names, the reason names the needs instead.
      if (names.front().Name().empty() && !needs_.empty())
        CatTo(reason, " of ", Join(needs_, ", "));
      // If the rule's only element has no labels, there is no label set to report.
      const bool only = names.size() == 1 && names[0].empty();
      for (size_t i = 0; i < names.size() && !only; ++i) {
        CatTo(reason, i > 0 ? ", " : ": ", names[i].ToString());
      }
      if (missing_count > names.size())
        CatTo(reason, " and ", missing_count - names.size(), " more");
    }
    return Become(RuleStatus::kNoData, reason, input.time_ns);
  }
  if (!input.in_progress.empty())
    return Become(RuleStatus::kInProgress, input.in_progress, input.time_ns);
  return Become(RuleStatus::kNoIssuesFound, "", input.time_ns);
}

void RuleStatusMachine::Succeed(const RuleStatusMachine& before) {
  reported_ = before.reported_;
  reported_reason_ = before.reported_reason_;
  ever_found_ = before.ever_found_;
}

std::optional<StatusChange> RuleStatusMachine::Finish() {
  if (status_ == RuleStatus::kUnknown) {
    if (reported()) return std::nullopt;
    status_ = RuleStatus::kNoData;
    reason_ = "the job ended before the first evaluation";
  } else if (status_ == RuleStatus::kNoData && evaluated_ != RuleStatus::kUnknown) {
    status_ = evaluated_;
    reason_ = evaluated_reason_;
  }
  // If NoData was reported, it remains the final status.
  if (!fresh_ && (status_ == reported_ || reported_ == RuleStatus::kNoData)) return std::nullopt;
  return Report(0);
}

std::optional<StatusChange> RuleStatusMachine::Stop(std::string_view reason) {
  return Become(RuleStatus::kStopped, reason, 0);
}

bool RuleStatusMachine::TooSoon(int64_t time_ns) const {
  const auto within = [time_ns](int64_t since) {
    return since != kMinPosition && time_ns - since < kSettleNs;
  };
  if (reported_ == RuleStatus::kUnknown) {
    const bool settles = status_ == RuleStatus::kNoData || status_ == RuleStatus::kInProgress;
    return settles && within(first_ns_);
  }
  // This machine succeeds another rule's machine (Succeed), so its first change is reported
  // immediately.
  if (fresh_) return false;
  if (status_ == reported_)
    return within(reason_reported_ns_) || (status_ == RuleStatus::kNoData && within(reason_ns_));
  if (!IsCalm(reported_)) return false;
  if (IsCalm(status_)) return within(calm_reported_ns_);
  // A need added by an edit has never been met, so its NoData is not delayed.
  return status_ == RuleStatus::kNoData && open_ && within(lost_ns_);
}

StatusChange RuleStatusMachine::Report(int64_t time_ns) {
  StatusChange change;
  change.previous = reported_;
  change.status = status_;
  change.reason = reason_;
  change.ever_found = ever_found_;
  change.reason_only = !fresh_ && status_ == reported_;
  if (change.reason_only) reason_reported_ns_ = time_ns;
  if (!fresh_ && IsCalm(reported_) && IsCalm(status_) && status_ != reported_)
    calm_reported_ns_ = time_ns;
  fresh_ = false;
  reported_ = status_;
  reported_reason_ = reason_;
  return change;
}

std::optional<StatusChange> RuleStatusMachine::Become(RuleStatus status, std::string_view reason,
                                                      int64_t time_ns) {
  if (first_ns_ == kMinPosition) first_ns_ = time_ns;
  if (status == RuleStatus::kNoData && status_ != status) {
    lost_ns_ = time_ns;
    evaluated_ = status_;
    evaluated_reason_ = reason_;
  }
  status_ = status;
  if (reason_ != reason) {
    reason_ = reason;
    reason_ns_ = time_ns;
  }
  if (!fresh_ && status_ == reported_ && reason_ == reported_reason_) return std::nullopt;
  if (TooSoon(time_ns)) return std::nullopt;
  return Report(time_ns);
}

void RuleStatusMachine::Save(BinaryWriter& out) const {
  out.U8(kStatusFormat);
  out.U64(needs_.size());
  for (size_t i = 0; i < needs_.size(); ++i) {
    out.Str(needs_[i]);
    out.Bool(met_once_[i] != 0);
  }
  out.Bool(open_);
  out.U8(static_cast<uint8_t>(status_));
  out.Str(reason_);
  out.Bool(ever_found_);
  out.U8(static_cast<uint8_t>(reported_));
  out.I64(calm_reported_ns_);
  out.Str(reported_reason_);
  out.I64(reason_reported_ns_);
  out.I64(first_ns_);
  out.I64(lost_ns_);
  out.Bool(fresh_);
  out.I64(reason_ns_);
  out.U8(static_cast<uint8_t>(evaluated_));
  out.Str(evaluated_reason_);
}

void RuleStatusMachine::Restore(BinaryReader& in) {
  const uint8_t format = in.U8();
  if (format < 2 || format > kStatusFormat) in.Fail();
  const size_t n = in.Count(2);
  std::fill(met_once_.begin(), met_once_.end(), 0);
  bool same = n == needs_.size();
  for (size_t i = 0; i < n && in.ok(); ++i) {
    const std::string name = in.Str();
    const bool met = in.Bool();
    const auto it = std::find(needs_.begin(), needs_.end(), name);
    if (it == needs_.end()) {
      same = false;
    } else if (met) {
      met_once_[static_cast<size_t>(it - needs_.begin())] = 1;
    }
  }
  const bool open = in.Bool();
  const uint8_t status = in.U8();
  reason_ = in.Str();
  ever_found_ = in.Bool();
  const uint8_t reported = in.U8();
  calm_reported_ns_ = in.I64();
  reported_reason_ = format == 2 ? (status == reported ? reason_ : "") : in.Str();
  reason_reported_ns_ = format == 2 ? kMinPosition : in.I64();
  first_ns_ = format == 2 ? kMinPosition : in.I64();  // in format 3: the last return from NoData
  lost_ns_ = format == 2 ? kMinPosition : in.I64();
  // Up to format 3, each machine reported its first status immediately.
  fresh_ = format < 4 ? status == 0 : in.Bool();
  reason_ns_ = format < 4 ? kMinPosition : in.I64();
  const uint8_t evaluated = format < 4 ? uint8_t{0} : in.U8();
  evaluated_reason_ = format < 4 ? "" : in.Str();
  if (std::max({status, reported, evaluated}) > static_cast<uint8_t>(RuleStatus::kStopped))
    in.Fail();
  if (!in.ok()) {
    *this = RuleStatusMachine(std::move(needs_));
    return;
  }
  status_ = static_cast<RuleStatus>(status);
  reported_ = static_cast<RuleStatus>(reported);
  evaluated_ = static_cast<RuleStatus>(evaluated);
  // An open gate stays open unless the rule has new needs.
  open_ = same ? open
               : std::all_of(met_once_.begin(), met_once_.end(), [](uint8_t m) { return m != 0; });
}

}  // namespace pitwall::alert
