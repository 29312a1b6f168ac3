// Alerts of one rule that return soon after their end (`unsteady`, event time on both clocks). The
// second and all later occurrences form one issue, which ends when the alert has been clear for the
// time in `unsteady`.
//
// The first issue ends normally, and its end is stored for that time. If the same alert fires again
// before then, it is unsteady from its start. An unsteady alert ends only after it has been clear
// for that time without interruption, and each return is counted. If the alert's input is gone, or
// if all alerts end, the end is immediate and is not stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "services/base/binary.h"
#include "services/base/time.h"
#include "services/model/labels.h"

namespace pitwall::alert {

struct Alert;

// Not thread-safe.
class Recurrence {
 public:
  // Maximum number of stored ends. Above the limit, the oldest is evicted.
  static constexpr size_t kMaxEnds = 10'000;

  // 0 means that alerts are never unsteady.
  explicit Recurrence(Duration within) : within_(within) {}
  bool on() const { return within_ > Duration::Zero(); }

  // Records that the alert starts firing.
  void Begin(Alert& alert, EventTime now);
  // Returns whether an alert that is due to end must keep firing. Changes only scratch state.
  bool Holds(Alert& alert, EventTime now) const;
  // Records that the alert keeps firing after the tick. `seen` means that expr contains it.
  static void Stay(Alert& alert, bool seen);
  // Records that the alert ends as cleared.
  void End(const Alert& alert, EventTime now);
  void Clear();

  // Adds a prefix such as "Unsteady, 3 times since 09:12:04 UTC: " to the summary of an unsteady
  // alert.
  static void Reword(const Alert& alert,
                     std::vector<std::pair<std::string, std::string>>* annotations);

  void Save(const std::vector<std::unique_ptr<Alert>>& alerts, BinaryWriter& out) const;
  void Restore(const std::vector<std::unique_ptr<Alert>>& alerts, BinaryReader& in);

 private:
  struct Ended {
    EventTime at;
    EventTime since;
    uint64_t times = 0;
  };

  void Forget(const Labels& labels);

  Duration within_;
  std::map<Labels, Ended> ends_;
  std::set<std::pair<EventTime, Labels>> by_age_;  // (at, labels) of ends_.
};

}  // namespace pitwall::alert
