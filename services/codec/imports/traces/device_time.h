// Device time in one trace by kind of work and by step, computed from its kernels and copies.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "services/codec/imports/traces/intervals.h"
#include "services/codec/imports/traces/rank_trace.h"

namespace pitwall::imports {

enum class DeviceWorkKind : uint8_t { kComputation, kCommunication, kCopy };

struct DeviceWork {
  static constexpr int64_t kUnknown = std::numeric_limits<int64_t>::min();

  Interval interval;
  int64_t launched_ns = kUnknown;  // host time of the launch
  DeviceWorkKind kind = DeviceWorkKind::kComputation;
};

// Durations during which at least one kernel or copy of a kind was running.
struct DeviceShares {
  int64_t computation_ns = 0;
  int64_t communication_ns = 0;
  int64_t exposed_ns = 0;  // communication without concurrent computation in any step
  int64_t copy_ns = 0;
  // Idle time from the step's first work to the next step's first work (for the last step, to the
  // end of its work). Absent if the step has no work.
  std::optional<int64_t> idle_ns;
};

// Adds the series of device shares (rules/metrics.yaml: train_computation_seconds and related
// metrics) for each step. Steps must be sorted by start.
void AddShares(const std::vector<DeviceWork>& works, const std::vector<TracedStep>& steps,
               RankTrace* trace);
// Returns log text with the shares for a whole trace: "of 1.23 s the device computed 40.1 %, …", or
// a note that no device was active.
std::string Describe(const std::vector<DeviceWork>& works);

// Returns the index of the step that requested the work, or -1 if there is no such step or the step
// is unknown. `steps` must be sorted by start. If the launch is known, this is the step that was
// running on the host at that time. If not, this is the step in which the work started, including
// the gap to the next step if the gap is at most a quarter of the step. Work after the last step
// has no known step, because it may belong to later, unmarked steps.
int64_t StepOf(const DeviceWork& work, const std::vector<TracedStep>& steps);

// Sets `on_device` for the steps, which must be sorted by start. A step starts when the device has
// finished all work launched earlier, and ends when its own work has finished. Neither time is
// before the host's marks. Thus, if the host only fills a queue, the durations add up to the total
// duration of the work. Copies and work with an unknown launch are ignored. A step keeps the host's
// times if it has no work or if its work ends before the work of earlier steps.
void PlaceOnDevice(const std::vector<DeviceWork>& works, std::vector<TracedStep>* steps);

// Returns the shares of each step.
std::vector<DeviceShares> SharesOfSteps(const std::vector<DeviceWork>& works,
                                        const std::vector<TracedStep>& steps);
// Returns the shares from the first work to the last. idle_ns is absent if there is no work.
DeviceShares SharesOfAll(const std::vector<DeviceWork>& works);

}  // namespace pitwall::imports
