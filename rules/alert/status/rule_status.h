// The status of one rule on one job (time-model.md, section 8), and what it is made of: needs, and
// elements that lost their input. "No data" is never "healthy": what was evaluated once and is gone
// is NoData by name, until it returns or the attempt ends.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rules/eval/vector.h"
#include "services/base/binary.h"
#include "services/model/issues/issue.h"
#include "services/model/labels.h"
#include "services/model/position.h"

namespace pitwall::alert {

// Which elements of a rule's subject were there once and are not now. Keeps the label column of its
// last tick instead of copies of labels. Bounded: of elements that the store has forgotten, the
// first `max_gone` are kept. Not thread-safe.
class InputWatch {
 public:
  explicit InputWatch(size_t max_gone = 1000) : max_gone_(max_gone) {}

  // The subject at a tick. Allocates only when the binding changed.
  void Update(const eval::Vector& subject);
  // What was seen is forgotten.
  void AttemptEnded();

  size_t lacking() const { return lacking_; }
  // Whether an element that agrees with `labels` in all labels that both have is lacking.
  bool Lacks(const Labels& labels) const;
  // Up to `max` of the lacking ones, in the order of labels.
  std::vector<Labels> Names(size_t max) const;

  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);

 private:
  void Rebind(const eval::Vector& subject);

  size_t max_gone_;
  eval::LabelColumnPtr column_;
  std::vector<uint8_t> seen_;     // parallel to column_
  std::vector<uint8_t> present_;  // at the last Update
  std::vector<Labels> gone_;      // seen, not in column_; sorted
  size_t lacking_ = 0;
  bool counted_ = false;  // lacking_ is of present_
};

struct StatusInput {
  bool error = false;
  std::string_view error_message;
  size_t firing = 0;
  std::span<const uint8_t>
      needs_met;  // parallel to the names given to RuleStatusMachine; ignored when empty
  const InputWatch* inputs = nullptr;  // null: nothing to watch
  std::string_view in_progress;  // what is waited for (minimum history, patience); "": nothing
  int64_t time_ns = 0;           // event time
};

struct StatusChange {
  RuleStatus previous = RuleStatus::kUnknown;
  RuleStatus status = RuleStatus::kUnknown;
  std::string reason;
  bool ever_found = false;
  bool reason_only = false;  // same status, other reason
};

// Not thread-safe.
class RuleStatusMachine {
 public:
  // Settling time, in event time. A first status NoData or InProgress is held until this long after
  // the first tick; NoData after NoIssuesFound or InProgress (a rank that ends takes its series
  // along) and a new reason of NoData until they have lasted for it. Between NoIssuesFound and
  // InProgress, and of the reason alone, a change is reported at most once in this time.
  static constexpr int64_t kSettleNs = 60'000'000'000;

  // The metric names of the rule's needs.
  explicit RuleStatusMachine(std::vector<std::string> needs);

  // Whether the rule is evaluated at this tick: from the tick on at which each need was met at
  // least once.
  bool Gate(std::span<const uint8_t> needs_met);
  bool gate_open() const { return open_; }

  // The status after a tick. Returns each change (of the status, or of the reason alone) once; one
  // that comes too soon to be reported, at a later tick if it still holds.
  std::optional<StatusChange> Update(const StatusInput& input);
  // This is the machine of a rule that takes the place of another of its name: the first change
  // follows the last one that the other machine reported.
  void Succeed(const RuleStatusMachine& before);
  // Returns the final status of an ended job if it has not been reported. Ignores NoData caused by
  // the departure of the last ranks.
  std::optional<StatusChange> Finish();
  // Returns the change to Stopped of a rule that was removed from a running job.
  std::optional<StatusChange> Stop(std::string_view reason);

  RuleStatus status() const { return status_; }
  const std::string& reason() const { return reason_; }
  bool ever_found() const { return ever_found_; }
  // Returns whether this machine or a predecessor has reported a change.
  bool reported() const { return reported_ != RuleStatus::kUnknown; }

  void Save(BinaryWriter& out) const;
  // `needs` that the saved state does not know begin unmet.
  void Restore(BinaryReader& in);

 private:
  std::optional<StatusChange> Become(RuleStatus status, std::string_view reason, int64_t time_ns);
  // Returns whether the change from the reported status to the present one, or of the reason, must
  // be held.
  bool TooSoon(int64_t time_ns) const;
  StatusChange Report(int64_t time_ns);

  std::vector<std::string> needs_;
  std::vector<uint8_t> met_once_;
  bool open_ = false;
  RuleStatus status_ = RuleStatus::kUnknown;
  std::string reason_;
  // The status before the present NoData, and its reason.
  RuleStatus evaluated_ = RuleStatus::kUnknown;
  std::string evaluated_reason_;
  RuleStatus reported_ = RuleStatus::kUnknown;  // of the last change that was returned
  std::string reported_reason_;                 // likewise
  bool fresh_ = true;                           // this machine has returned no change
  // Event times; kMinPosition before the first.
  int64_t calm_reported_ns_ = kMinPosition;    // the last reported change between the calm two
  int64_t reason_reported_ns_ = kMinPosition;  // the last reported change of the reason alone
  int64_t reason_ns_ = kMinPosition;           // since when the reason is this one
  int64_t first_ns_ = kMinPosition;            // the first tick
  int64_t lost_ns_ = kMinPosition;             // since when the status is NoData
  bool ever_found_ = false;
};

}  // namespace pitwall::alert
