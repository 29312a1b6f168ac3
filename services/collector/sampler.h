// Telemetry source of the node. It samples the node at regular intervals and publishes the rows for
// each job on the node.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/base/system/clock_step.h"
#include "services/collector/capture/capture_state_series.h"
#include "services/collector/gpu/gpu_monitor.h"
#include "services/collector/jobs/job_file_directory.h"
#include "services/collector/jobs/job_registry.h"
#include "services/collector/metrics/counters.h"
#include "services/collector/publishing/batch_sender.h"
#include "services/collector/publishing/node_announcer.h"
#include "services/collector/readers/monotonic_event_clock.h"
#include "services/collector/readers/stream_table.h"

namespace pitwall::collector {

struct SamplerOptions {
  std::string node;
  std::string root = "/";
  int64_t interval_ns = 500 * kNanosPerMilli;
  int64_t join_slack_ns = 0;
};

// Ticks are at absolute multiples of the interval in event time, regardless of how long a reading
// takes. Missed multiples are counted and not repeated. At least every second, a batch is published
// for each job and for node:<name>. Its promise is the last tick minus the slack. The streams of
// the
// node are 1 system, 2 cores, 3 GPUs, 4 processes, and 5 cgroup.
//
//  * node:<name> always receives the system and all GPUs, but receives the cores only while no job
//    is
//    bound.
//  * A job receives the system, the cores, its processes, its cgroup, and its GPUs. The only job
//    on a node receives all GPUs; otherwise, each job receives its declared GPUs. If a present job
//    has no declared GPUs, no job receives any GPUs, and each job receives a notice.
//
// If the wall clock is set forward by more than a second, the source ends and starts a new boot. A
// clock that is set back is not followed, because rows with equal times could not be distinguished.
// The node publishes the offset (pitwall_clock_offset_seconds). The sampler owns its thread. Start
// and Stop must be called from the same thread.
class Sampler {
 public:
  // `gpus`, `drop_folder`, and `capture_states` may be null. The caller owns all arguments.
  Sampler(const SamplerOptions& options, Clock& clock, MonotonicEventClock* time,
          JobRegistry* bindings, const GpuMonitor* gpus, JobFileDirectory* drop_folder,
          NodeAnnouncer* announcer, BatchSender* sender, Counters* counters,
          CaptureStates* capture_states = nullptr);
  ~Sampler();

  void Start();
  // Publishes the remaining rows, sends the node's goodbye to each job, and ends the thread.
  // Idempotent.
  void Stop();
  void SetInterval(int64_t interval_ns);

 private:
  // A job that receives the node's telemetry.
  struct Target {
    BoundJob job;
    bool is_node = false;    // whether this is node:<name>
    bool left = false;       // the node sent its goodbye, because the job has no client here
    JobReference reference;  // the last published reference
    std::string boot_id;
    int64_t start_ns = 0;
    SourceState state;
    uint64_t announced_system = 0;
    uint64_t announced_cores = 0;
    uint64_t announced_gpus = 0;
    uint64_t announced_processes = 0;
    uint64_t announced_cgroup = 0;
    bool has_cores = false;
    bool withdraw_cores = false;
    std::optional<std::pair<bool, std::vector<int>>> gpus_given;  // whether any GPUs, and which
    bool gpus_noticed = false;  // whether the notice about withheld GPUs was published
    std::string cgroup;
    int64_t schemas_sent_ns = 0;
    std::vector<JobEvent> events;  // events in the next batch
    std::unique_ptr<StreamTable> gpus;
    std::unique_ptr<StreamTable> processes;
    std::unique_ptr<StreamTable> cgroups;
  };

  void Loop();
  void Boot();
  void Reboot(int64_t drift_ns);
  void WatchClock();
  void Tick(int64_t tick_ns, int64_t interval_ns);
  void SyncTargets();
  // Applies changed bindings.
  void SyncBindings(int64_t tick_ns);
  void AddTarget(const BoundJob& job, bool is_node);
  void Introduce(Target& target, const BoundJob& job);
  void Update(Target& target, const BoundJob& job);
  // Stops sending frames to a job whose last local client has ended. The end of the job may still
  // be published.
  void Leave(Target& target);
  void FindCgroups();
  void SplitGpus(int64_t tick_ns);
  void SampleAll(int64_t tick_ns);
  void Publish(int64_t tick_ns);
  void PublishTo(Target& target, int64_t promise_ns, bool goodbye);
  void End(const std::vector<EndedJob>& over);
  std::vector<std::unique_ptr<SeriesReader>> GpuReaders(const std::vector<int>& only) const;

  const SamplerOptions options_;
  Clock& clock_;
  MonotonicEventClock* const time_;
  JobRegistry* const bindings_;
  const GpuMonitor* const gpus_;
  JobFileDirectory* const drop_folder_;
  NodeAnnouncer* const announcer_;
  BatchSender* const sender_;
  Counters* const counters_;
  CaptureStates* const capture_states_;
  const ReaderContext context_;
  const EthtoolCounters driver_counters_;
  const std::unique_ptr<Wakeup> wakeup_;
  std::atomic<int64_t> interval_ns_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;

  // The following members are used only by the sampler's thread.
  uint64_t bindings_version_ = 0;
  bool clock_behind_ = false;  // whether the wall clock was set back
  ClockStep clock_step_;
  int64_t next_poll_ns_ = 0;  // monotonic time of the next poll of the drop folder
  int64_t last_tick_ns_ = 0;
  int64_t last_publish_ns_ = 0;
  std::unique_ptr<StreamTable> system_;
  std::unique_ptr<StreamTable> cores_;
  std::map<std::string, Target, std::less<>> targets_;  // by job ID
};

}  // namespace pitwall::collector
