// Device time of one trace by kind of work and by step, from its kernels and copies.
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
  int64_t launched_ns = kUnknown;  // when the host launched it
  DeviceWorkKind kind = DeviceWorkKind::kComputation;
};

// Times with at least one running kernel or copy of a kind.
struct DeviceShares {
  int64_t computation_ns = 0;
  int64_t communication_ns = 0;
  int64_t exposed_ns = 0;  // communication and no computation, of whatever step
  int64_t copy_ns = 0;
  // Nothing ran: of a step, from its first work to that of the next one, or to its own last.
  // Nothing: the step has no work.
  std::optional<int64_t> idle_ns;
};

// The series of a step's shares (rules/metrics.yaml: train_computation_seconds and its kin), for
// each of the steps, which are sorted by start.
void AddShares(const std::vector<DeviceWork>& works, const std::vector<TracedStep>& steps,
               RankTrace* trace);
// Describes the shares of a whole trace for logs: "the device computed 40.1 % of 1.23 s, …", or
// that the device had no work.
std::string Describe(const std::vector<DeviceWork>& works);

// The step (by its place in `steps`, sorted by start) that asked for the work; -1: none, or
// unknown. Where the launch is known, the step that ran on the host then. Else the step in which
// the work began, with the gap to the next step if that is at most a quarter of the step. The step
// of work behind the last one is unknown, since it may be that of any work after the marked steps.
int64_t StepOf(const DeviceWork& work, const std::vector<TracedStep>& steps);

// Sets `on_device` of the steps, which are sorted by start. A step begins when the device has
// finished what was launched before it, and ends when its own work has finished, both not before
// the host's marks: where the host only fills a queue, the durations add up to the time that the
// work takes. Copies, and work whose launch is unknown, have no influence. A step whose own work
// ends before that of earlier steps, or that has none by then, keeps the host's times.
void PlaceOnDevice(const std::vector<DeviceWork>& works, std::vector<TracedStep>* steps);

// For each step.
std::vector<DeviceShares> SharesOfSteps(const std::vector<DeviceWork>& works,
                                        const std::vector<TracedStep>& steps);
// From the first work to the last; idle_ns: nothing without any.
DeviceShares SharesOfAll(const std::vector<DeviceWork>& works);

}  // namespace pitwall::imports
