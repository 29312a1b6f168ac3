// Status of one rule on one job (time-model.md, section 8), and its inputs: needs, and elements
// that lost their input. A rule without input must never look healthy: if an evaluated element
// disappears, the status is NoData and its reason names the element, until it returns or the
// attempt ends.
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

// Elements of a rule's subject that once existed but are now missing. Keeps the label column of the
// last tick instead of copying labels. Of the elements that the store has dropped, only the first
// `max_gone` are kept. Not thread-safe.
class InputWatch {
 public:
  explicit InputWatch(size_t max_gone = 1000) : max_gone_(max_gone) {}

  // Updates the watch with the subject at a tick. Only allocates memory if the binding changed.
  void Update(const eval::Vector& subject);
  // Forgets all elements seen so far.
  void AttemptEnded();

  size_t missing_count() const { return missing_count_; }
  // Returns whether a missing element agrees with `labels` on all common labels.
  bool IsMissing(const Labels& labels) const;
  // Returns up to `max` missing elements, in label order.
  std::vector<Labels> Names(size_t max) const;

  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);

 private:
  void Rebind(const eval::Vector& subject);

  size_t max_gone_;
  eval::LabelColumnPtr column_;
  std::vector<uint8_t> seen_;     // Parallel to column_.
  std::vector<uint8_t> present_;  // At the last Update.
  std::vector<Labels> gone_;      // Seen, but not in column_; sorted.
  size_t missing_count_ = 0;
  bool counted_ = false;  // missing_count_ is up to date with present_.
};

struct StatusInput {
  bool error = false;
  std::string_view error_message;
  size_t firing = 0;
  std::span<const uint8_t>
      needs_met;  // parallel to the names passed to RuleStatusMachine; ignored if empty
  const InputWatch* inputs = nullptr;  // null if no input is watched
  std::string_view
      in_progress;      // condition that the rule waits for (minimum history, patience), or ""
  int64_t time_ns = 0;  // event time
};

struct StatusChange {
  RuleStatus previous = RuleStatus::kUnknown;
  RuleStatus status = RuleStatus::kUnknown;
  std::string reason;
  bool ever_found = false;
  bool reason_only = false;  // same status, different reason
};

// Not thread-safe.
class RuleStatusMachine {
 public:
  // Settling time, in event time. A first status of NoData or InProgress is held until this long
  // after the first tick. NoData after NoIssuesFound or InProgress (as when a rank ends), and a new
  // reason for NoData, are held until they have lasted this long. Changes between NoIssuesFound and
  // InProgress, and changes to the reason alone, are each reported at most once in this time.
  static constexpr int64_t kSettleNs = 60'000'000'000;

  // `needs` are the metric names of the rule's needs.
  explicit RuleStatusMachine(std::vector<std::string> needs);

  // Returns whether the rule is evaluated at this tick. Each need must have been met at least once.
  bool Gate(std::span<const uint8_t> needs_met);
  bool gate_open() const { return open_; }

  // Updates the status after a tick. Returns each change (to the status, or to the reason alone)
  // once. A change that comes too soon is returned at a later tick if it still applies.
  std::optional<StatusChange> Update(const StatusInput& input);
  // Makes this machine the successor of another rule's machine with the same name. Its first change
  // follows the last change that the other machine reported.
  void Succeed(const RuleStatusMachine& before);
  // Returns the final status of a job that has ended, unless it was already reported. Ignores
  // NoData caused by the departure of the last ranks.
  std::optional<StatusChange> Finish();
  // Returns the change to Stopped for a rule that was removed from a running job.
  std::optional<StatusChange> Stop(std::string_view reason);

  RuleStatus status() const { return status_; }
  const std::string& reason() const { return reason_; }
  bool ever_found() const { return ever_found_; }
  // Returns whether this machine or a predecessor has reported a change.
  bool reported() const { return reported_ != RuleStatus::kUnknown; }

  void Save(BinaryWriter& out) const;
  // `needs` that are not part of the saved state start as unmet.
  void Restore(BinaryReader& in);

 private:
  std::optional<StatusChange> Become(RuleStatus status, std::string_view reason, int64_t time_ns);
  // Returns whether the pending change to the status or the reason must be held.
  bool TooSoon(int64_t time_ns) const;
  StatusChange Report(int64_t time_ns);

  std::vector<std::string> needs_;
  std::vector<uint8_t> met_once_;
  bool open_ = false;
  RuleStatus status_ = RuleStatus::kUnknown;
  std::string reason_;
  // The status before the current NoData, and its reason.
  RuleStatus evaluated_ = RuleStatus::kUnknown;
  std::string evaluated_reason_;
  RuleStatus reported_ = RuleStatus::kUnknown;  // Of the last returned change.
  std::string reported_reason_;                 // Of the last returned change.
  bool fresh_ = true;                           // This machine has not returned any change.
  // Event times; kMinPosition before the first. Calm statuses are NoIssuesFound and InProgress.
  int64_t calm_reported_ns_ = kMinPosition;    // Last reported change between calm statuses.
  int64_t reason_reported_ns_ = kMinPosition;  // Last reported change to the reason alone.
  int64_t reason_ns_ = kMinPosition;           // Start of the current reason.
  int64_t first_ns_ = kMinPosition;            // First tick.
  int64_t lost_ns_ = kMinPosition;             // Start of the current NoData.
  bool ever_found_ = false;
};

}  // namespace pitwall::alert
