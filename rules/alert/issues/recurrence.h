// Alerts of one rule that come back soon after their end (`unsteady`): the second and what follows
// it are one issue, which ends when the alert has been clear for as long.
//
// The first issue ends as any other. An end is remembered for the rule's time; the same alert that
// fires again until then is unsteady from its beginning. While it is, an end that is due waits
// until the alert has been clear for that time without a break, and each return counts. Where the
// alert's input is gone, or all alerts end, nothing waits and nothing is remembered.
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
#include "services/model/labels.h"

namespace pitwall::alert {

struct Alert;

// Times are event time in ns, on both clocks. Not thread-safe.
class Recurrence {
 public:
  // Beyond so many remembered ends the oldest is forgotten.
  static constexpr size_t kMaxEnds = 10'000;

  // 0: alerts are never unsteady.
  explicit Recurrence(int64_t within_ns) : within_ns_(within_ns) {}
  bool on() const { return within_ns_ > 0; }

  // The alert fires.
  void Begin(Alert& alert, int64_t now_ns);
  // Whether an alert whose end is due stays. Changes scratch of the alert only.
  bool Holds(Alert& alert, int64_t now_ns) const;
  // The alert stays after the tick; `seen`: its expression has it.
  static void Stay(Alert& alert, bool seen);
  // The alert ends as cleared.
  void End(const Alert& alert, int64_t now_ns);
  void Clear();

  // "Unsteady, 3 times since 09:12:04 UTC: " before the summary of an unsteady alert.
  static void Reword(const Alert& alert,
                     std::vector<std::pair<std::string, std::string>>* annotations);

  void Save(const std::vector<std::unique_ptr<Alert>>& alerts, BinaryWriter& out) const;
  void Restore(const std::vector<std::unique_ptr<Alert>>& alerts, BinaryReader& in);

 private:
  struct Ended {
    int64_t at_ns = 0;
    int64_t since_ns = 0;
    uint64_t times = 0;
  };

  void Forget(const Labels& labels);

  int64_t within_ns_;
  std::map<Labels, Ended> ends_;
  std::set<std::pair<int64_t, Labels>> by_age_;  // (at_ns, labels) of ends_
};

}  // namespace pitwall::alert
