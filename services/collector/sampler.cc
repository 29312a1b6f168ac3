#include "services/collector/sampler.h"

#include <algorithm>
#include <cstdlib>

#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::collector {
namespace {

constexpr int64_t kHeartbeatNs = kNanosPerSecond;  // maximum time between batches
constexpr int64_t kDropPollNs = 2 * kNanosPerSecond;

int64_t BaseOf(int64_t interval_ns) { return std::min(interval_ns, kHeartbeatNs); }

}  // namespace

Sampler::Sampler(const SamplerOptions& options, Clock& clock, MonotonicEventClock* time,
                 JobRegistry* bindings, const GpuMonitor* gpus, JobFileDirectory* drop_folder,
                 NodeAnnouncer* announcer, BatchSender* sender, Counters* counters,
                 CaptureStates* capture_states)
    : clock_(clock),
      time_(time),
      bindings_(bindings),
      drop_folder_(drop_folder),
      announcer_(announcer),
      counters_(counters),
      interval_ns_(options.interval_ns),
      clock_watch_(clock, time, counters),
      targets_(ReaderContext{options.root, options.node, counters}, options.join_slack_ns, clock,
               *time, bindings, gpus, announcer, sender, capture_states),
      worker_(&clock, "sampler") {
  announcer_->Begin(FloorTo(time_->Now(), BaseOf(interval_ns_)),
                    interval_ns_);  // for clients that connect early
}

void Sampler::Start() {
  worker_.Start([this] { Loop(); });
}

void Sampler::SetInterval(int64_t interval_ns) {
  interval_ns_ = interval_ns;
  worker_.Wake();
}

void Sampler::Loop() {
  Boot();
  while (!worker_.stopping()) {
    if (const std::optional<int64_t> step_ns = clock_watch_.Check()) Reboot(*step_ns);
    const int64_t interval_ns = interval_ns_;
    const int64_t base_ns = BaseOf(interval_ns);
    const int64_t tick_ns = FloorTo(time_->Now(), base_ns);
    if (tick_ns > last_tick_ns_) {
      counters_->ticks.fetch_add(1, std::memory_order_relaxed);
      const int64_t missed = (tick_ns - last_tick_ns_) / base_ns - 1;
      if (missed > 0)
        counters_->ticks_missed.fetch_add(static_cast<uint64_t>(missed), std::memory_order_relaxed);
      last_tick_ns_ = tick_ns;
      announcer_->Begin(tick_ns, interval_ns);
      Tick(tick_ns, interval_ns);
    }
    const int64_t now_ns = time_->Now();
    worker_.Wait(NextAfter(now_ns, base_ns) - now_ns);
  }
  targets_.EndAll(LastTick());
}

void Sampler::Boot() {
  last_tick_ns_ = FloorTo(time_->Now(), BaseOf(interval_ns_));
  announcer_->Begin(last_tick_ns_, interval_ns_);
  targets_.Boot(last_tick_ns_);
  counters_->boots.fetch_add(1, std::memory_order_relaxed);
}

void Sampler::Reboot(int64_t drift_ns) {
  PITWALL_LOG(kWarning, "collector", "the wall clock was set ", drift_ns > 0 ? "forward" : "back",
              " by ", FormatDouble(static_cast<double>(std::abs(drift_ns)) / 1e9),
              " s; starting a new boot");
  targets_.EndAll(LastTick());
  clock_watch_.Restart();
  announcer_->NewBoot();
  Boot();
}

void Sampler::Tick(int64_t tick_ns, int64_t interval_ns) {
  const int64_t now_ns = clock_.MonotonicNs();
  if (drop_folder_ != nullptr && (now_ns >= next_poll_ns_ || drop_folder_->Changed())) {
    next_poll_ns_ = now_ns + kDropPollNs;
    bindings_->SetDropped(drop_folder_->Poll());
  }
  targets_.Sync(LastTick(), now_ns);
  targets_.SplitGpus(tick_ns);
  if (tick_ns % interval_ns == 0) targets_.Sample(tick_ns);
  targets_.PublishDue(LastTick());
}

}  // namespace pitwall::collector
