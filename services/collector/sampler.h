// Telemetry source of the node. It samples the node at regular intervals and publishes the rows to
// each job on the node.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "services/base/clock.h"
#include "services/base/system/worker.h"
#include "services/collector/capture/capture_state_series.h"
#include "services/collector/clock_watch.h"
#include "services/collector/gpu/gpu_monitor.h"
#include "services/collector/jobs/job_file_directory.h"
#include "services/collector/jobs/job_registry.h"
#include "services/collector/metrics/counters.h"
#include "services/collector/node_targets.h"
#include "services/collector/publishing/batch_sender.h"
#include "services/collector/publishing/node_announcer.h"
#include "services/collector/readers/monotonic_event_clock.h"

namespace pitwall::collector {

struct SamplerOptions {
  std::string node;
  std::string root = "/";
  int64_t interval_ns = 500 * kNanosPerMilli;
  int64_t join_slack_ns = 0;
};

// Ticks are at absolute multiples of the interval in event time, regardless of how long a reading
// takes. Missed multiples are counted but not made up.
//
// If the wall clock is set forward by more than a second, the source ends and starts a new boot. If
// the clock is set back, event time does not follow it, because rows with equal times could not be
// distinguished. Instead, the node publishes the offset (pitwall_clock_offset_seconds). The sampler
// owns its thread. Start and Stop must be called from the same thread.
class Sampler {
 public:
  // `gpus`, `drop_folder`, and `capture_states` may be null. The caller owns all arguments.
  Sampler(const SamplerOptions& options, Clock& clock, MonotonicEventClock* time,
          JobRegistry* bindings, const GpuMonitor* gpus, JobFileDirectory* drop_folder,
          NodeAnnouncer* announcer, BatchSender* sender, Counters* counters,
          CaptureStates* capture_states = nullptr);

  void Start();
  // Publishes the remaining rows, sends the node's goodbye to each job, and ends the thread.
  // Idempotent.
  void Stop() { worker_.Stop(); }
  void SetInterval(int64_t interval_ns);

 private:
  void Loop();
  void Boot();
  void Reboot(int64_t drift_ns);
  void Tick(int64_t tick_ns, int64_t interval_ns);
  // Returns the last tick and the current interval.
  NodeTick LastTick() const { return {last_tick_ns_, interval_ns_}; }

  Clock& clock_;
  MonotonicEventClock* const time_;
  JobRegistry* const bindings_;
  JobFileDirectory* const drop_folder_;
  NodeAnnouncer* const announcer_;
  Counters* const counters_;
  std::atomic<int64_t> interval_ns_;

  // Used only by the sampler's thread.
  ClockWatch clock_watch_;
  int64_t next_poll_ns_ = 0;  // monotonic time of the next poll of the drop folder
  int64_t last_tick_ns_ = 0;
  NodeTargets targets_;

  Worker worker_;
};

}  // namespace pitwall::collector
