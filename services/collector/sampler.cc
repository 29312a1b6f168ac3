#include "services/collector/sampler.h"

#include <algorithm>
#include <map>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/collector/readers/job_cgroup.h"
#include "services/model/position.h"

namespace pitwall::collector {
namespace {

constexpr uint32_t kSystemStream = 1;
constexpr uint32_t kCoreStream = 2;
constexpr uint32_t kGpuStream = 3;
constexpr uint32_t kProcessStream = 4;
constexpr uint32_t kCgroupStream = 5;
constexpr int64_t kHeartbeatNs = kNanosPerSecond;     // maximum time between batches
constexpr int64_t kPublishNs = 500 * kNanosPerMilli;  // minimum time between batches
constexpr int64_t kSchemaRepeatNs = 5 * kNanosPerSecond;
constexpr int64_t kDropPollNs = 2 * kNanosPerSecond;

int64_t BaseOf(int64_t interval_ns) { return std::min(interval_ns, kHeartbeatNs); }

std::unique_ptr<StreamTable> EmptyTable(uint32_t stream) {
  return std::make_unique<StreamTable>(stream, std::vector<std::unique_ptr<SeriesReader>>());
}

template <typename... Readers>
std::vector<std::unique_ptr<SeriesReader>> List(Readers... readers) {
  std::vector<std::unique_ptr<SeriesReader>> out;
  (out.push_back(std::move(readers)), ...);
  return out;
}

}  // namespace

Sampler::Sampler(const SamplerOptions& options, Clock& clock, MonotonicEventClock* time,
                 JobRegistry* bindings, const GpuMonitor* gpus, JobFileDirectory* drop_folder,
                 NodeAnnouncer* announcer, BatchSender* sender, Counters* counters,
                 CaptureStates* capture_states)
    : options_(options),
      clock_(clock),
      time_(time),
      bindings_(bindings),
      gpus_(gpus),
      drop_folder_(drop_folder),
      announcer_(announcer),
      sender_(sender),
      counters_(counters),
      capture_states_(capture_states),
      context_{options.root, options.node, counters},
      wakeup_(clock.NewWakeup()),
      interval_ns_(options.interval_ns) {
  system_ = std::make_unique<StreamTable>(
      kSystemStream,
      List(NewMemoryReader(context_), NewNetworkReader(context_), NewDiskReader(context_),
           NewPressureReader(context_), NewLoadReader(context_), NewTcpReader(context_),
           NewInfinibandReader(context_, clock_), NewPfcReader(context_, clock_, driver_counters_),
           NewNfsReader(context_), NewClockReader(context_, *time_)));
  cores_ = std::make_unique<StreamTable>(kCoreStream, List(NewCpuReader(context_)));
  announcer_->Begin(FloorTo(time_->Now(), BaseOf(interval_ns_)),
                    interval_ns_);  // for clients that connect early
}

Sampler::~Sampler() { Stop(); }

void Sampler::Start() {
  stopping_ = false;
  thread_ = std::thread([this] { Loop(); });
}

void Sampler::Stop() {
  stopping_ = true;
  wakeup_->Wake();
  if (thread_.joinable()) thread_.join();
}

void Sampler::SetInterval(int64_t interval_ns) {
  interval_ns_ = interval_ns;
  wakeup_->Wake();
}

void Sampler::Loop() {
  Boot();
  while (!stopping_) {
    WatchClock();
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
    if (stopping_) break;
    const int64_t now_ns = time_->Now();
    wakeup_->Wait(NextAfter(now_ns, base_ns) - now_ns);
  }
  // A promise may only cover past ticks. The time between the last tick and now is not covered.
  for (auto& [id, target] : targets_) {
    if (!target.left) PublishTo(target, last_tick_ns_ - options_.join_slack_ns, true);
  }
  targets_.clear();
}

void Sampler::Boot() {
  last_tick_ns_ = FloorTo(time_->Now(), BaseOf(interval_ns_));
  last_publish_ns_ = last_tick_ns_;
  announcer_->Begin(last_tick_ns_, interval_ns_);
  system_->Clear();
  cores_->Clear();
  counters_->boots.fetch_add(1, std::memory_order_relaxed);
}

void Sampler::WatchClock() {
  int64_t drift_ns = time_->Drift();
  // A single reading may be wrong, for example while the clock is being set.
  if (drift_ns > kMaxDriftNs || drift_ns < -kMaxDriftNs) drift_ns = time_->Drift();
  const bool lasts = clock_step_.Believe(drift_ns, clock_.MonotonicNs());
  if (lasts && (drift_ns > kMaxDriftNs || drift_ns < -ClockStep::kLargeNs)) return Reboot(drift_ns);
  const bool behind = drift_ns < -kMaxDriftNs;
  if (behind == clock_behind_) return;
  clock_behind_ = behind;
  counters_->clock_behind.store(behind ? 1 : 0, std::memory_order_relaxed);
  if (behind) {
    PITWALL_LOG(kWarning, "collector", "the wall clock was set back by ",
                FormatDouble(static_cast<double>(-drift_ns) / 1e9),
                " s; the collector keeps its time until the clock has caught up (a step back of "
                "over an hour that lasts a minute starts a new boot)");
  } else {
    PITWALL_LOG(kInfo, "collector", "the wall clock has caught up with the collector's time");
  }
}

void Sampler::Reboot(int64_t drift_ns) {
  PITWALL_LOG(kWarning, "collector", "the wall clock was set ", drift_ns > 0 ? "forward" : "back",
              " by ", FormatDouble(static_cast<double>(std::abs(drift_ns)) / 1e9),
              " s; starting a new boot");
  for (auto& [id, target] : targets_) {
    if (!target.left) PublishTo(target, last_tick_ns_ - options_.join_slack_ns, true);
  }
  targets_.clear();
  time_->Restart();
  clock_behind_ = false;
  counters_->clock_behind.store(0, std::memory_order_relaxed);
  announcer_->NewBoot();
  Boot();
  bindings_version_ = 0;
}

void Sampler::Tick(int64_t tick_ns, int64_t interval_ns) {
  const int64_t now_ns = clock_.MonotonicNs();
  if (drop_folder_ != nullptr && (now_ns >= next_poll_ns_ || drop_folder_->Changed())) {
    next_poll_ns_ = now_ns + kDropPollNs;
    bindings_->SetDropped(drop_folder_->Poll());
  }
  SyncBindings(tick_ns);  // jobs that start and end between two ticks must be published too
  End(bindings_->Expire(now_ns));
  SyncBindings(tick_ns);
  if (gpus_ != nullptr) SplitGpus(tick_ns);
  if (tick_ns % interval_ns == 0) SampleAll(tick_ns);
  if (tick_ns - last_publish_ns_ >= std::min(kPublishNs, kHeartbeatNs)) {
    last_publish_ns_ = tick_ns;
    Publish(tick_ns);
  }
}

void Sampler::SyncBindings(int64_t tick_ns) {
  if (bindings_->version() == bindings_version_) return;
  // Rows that were sampled before the change belong to the previous targets.
  if (!targets_.empty() && last_publish_ns_ < tick_ns) Publish(last_publish_ns_);
  SyncTargets();
}

void Sampler::AddTarget(const BoundJob& job, bool is_node) {
  Target& target = targets_[job.id];
  target.is_node = is_node;
  const NodeAnnouncer::Source source = announcer_->Announce(job.id, job.owner, job.owner_declared);
  target.boot_id = source.boot_id;
  target.start_ns = source.start_ns;
  target.state = source.state;
  target.gpus = EmptyTable(kGpuStream);
  target.processes = EmptyTable(kProcessStream);
  target.cgroups = EmptyTable(kCgroupStream);
  target.job.id = job.id;
  target.job.name = job.name;
  target.has_cores = !is_node;
  if (is_node) {
    if (gpus_ != nullptr) target.gpus->SetReaders(GpuReaders({}));
    return;
  }
  if (job.by_client_only) {  // the job's first client announced it
    target.reference = job.announced;
  } else {
    Introduce(target, job);
  }
}

// Publishes the job's name, reference, and labels. A repeated event replaces the name and the
// reference but only adds labels.
void Sampler::Introduce(Target& target, const BoundJob& job) {
  JobEvent started;
  started.kind = JobEvent::Kind::kStarted;
  started.time_ns = last_tick_ns_;
  started.name = job.name;
  started.reference = target.reference = job.reference;
  started.labels = job.labels;
  target.events.push_back(std::move(started));
}

void Sampler::Update(Target& target, const BoundJob& job) {
  if (target.job.processes != job.processes) {
    auto readers = List(NewProcessReader(context_, job.processes));
    if (capture_states_ != nullptr)
      readers.push_back(NewCaptureStateReader(context_, capture_states_, job.id));
    target.processes->SetReaders(std::move(readers));
  }
  // The reference may change, for example when a client's process joins. Stop requests use the
  // latest reference.
  if (target.reference != job.reference || target.job.name != job.name) Introduce(target, job);
  target.job = job;
}

void Sampler::Leave(Target& target) {
  PublishTo(target, last_tick_ns_ - options_.join_slack_ns, true);
  announcer_->Forget(target.job.id);
  target.left = true;
}

std::vector<std::unique_ptr<SeriesReader>> Sampler::GpuReaders(const std::vector<int>& only) const {
  return List(NewGpuReader(context_, gpus_, only));
}

void Sampler::SyncTargets() {
  const std::vector<BoundJob> jobs = bindings_->Jobs(&bindings_version_);
  const std::string node_job = Cat("node:", options_.node);
  // The file of a job that is neither bound nor ended was removed.
  std::vector<EndedJob> gone;
  for (const auto& [id, target] : targets_) {
    const bool bound = std::any_of(jobs.begin(), jobs.end(),
                                   [&id = id](const BoundJob& job) { return job.id == id; });
    // A job that was declared for another owner has also left, because the node is a new source for
    // it.
    const bool displaced =
        !target.job.owner.empty() &&
        std::any_of(jobs.begin(), jobs.end(), [&id = id, &target = target](const BoundJob& job) {
          return job.id == id && job.owner != target.job.owner;
        });
    if ((!bound || displaced) && !target.is_node) gone.push_back({id, false, "", {}});
  }
  End(gone);
  if (!targets_.contains(node_job)) {
    BoundJob job;
    job.id = node_job;
    AddTarget(job, true);
  }
  for (const BoundJob& job : jobs) {
    // If a job returns, it receives a new boot of the node.
    if (const auto it = targets_.find(job.id);
        it != targets_.end() && it->second.left && !job.deserted)
      targets_.erase(it);
    if (!targets_.contains(job.id)) AddTarget(job, false);
    Target& target = targets_[job.id];
    if (target.left) continue;
    Update(target, job);
    if (job.deserted) Leave(target);
  }
  Target& node = targets_[node_job];
  node.withdraw_cores = node.has_cores && !jobs.empty();
  node.has_cores = jobs.empty();
  FindCgroups();
  counters_->jobs.store(jobs.size(), std::memory_order_relaxed);
}

void Sampler::FindCgroups() {
  std::map<std::string, int, std::less<>> users;
  std::map<std::string, std::string, std::less<>> found;
  for (const auto& [id, target] : targets_) {
    if (target.is_node || target.left) continue;
    const std::string path = target.job.cgroup.empty()
                                 ? CgroupOf(options_.root, target.job.processes)
                                 : target.job.cgroup;
    found[id] = path;
    ++users[path];
  }
  for (auto& [id, target] : targets_) {
    if (target.is_node || target.left) continue;
    // If two jobs share a group, neither job receives the group's values.
    const std::string path = users[found[id]] == 1 ? found[id] : "";
    if (path == target.cgroup) continue;
    target.cgroup = path;
    target.cgroups->SetReaders(path.empty() ? List() : List(NewCgroupReader(context_, path)));
  }
}

void Sampler::SplitGpus(int64_t tick_ns) {
  // A job without clients uses no GPU, even if it is still bound in its grace period, so the other
  // jobs receive its GPUs.
  size_t present = 0;
  bool known = true;
  for (const auto& [id, target] : targets_) {
    if (!target.job.present) continue;
    ++present;
    known &= !target.job.gpus.empty();
  }
  const bool any = gpus_->count() > 0;  // if there are no GPUs, nothing is withheld
  for (auto& [id, target] : targets_) {
    if (target.is_node || target.left) continue;
    const size_t jobs = present + (target.job.present ? 0 : 1);
    const bool withhold = jobs > 1 && !(known && !target.job.gpus.empty());
    if (!target.gpus_given.has_value() ||
        *target.gpus_given != std::pair(!withhold, target.job.gpus)) {
      target.gpus_given = std::pair(!withhold, target.job.gpus);
      target.gpus->SetReaders(withhold ? List() : GpuReaders(target.job.gpus));
    }
    if (target.gpus_noticed == (withhold && any)) continue;
    target.gpus_noticed = withhold && any;
    JobEvent notice;
    notice.kind = JobEvent::Kind::kNotice;
    notice.time_ns = tick_ns;
    notice.name = target.job.name;
    notice.reason = "gpu_split_unknown";
    if (target.gpus_noticed) notice.series = GpuSeriesNames();  // an empty list lifts the notice
    target.events.push_back(std::move(notice));
  }
}

void Sampler::SampleAll(int64_t tick_ns) {
  system_->Sample(tick_ns);
  cores_->Sample(tick_ns);
  for (auto& [id, target] : targets_) {
    if (target.left) continue;
    target.gpus->Sample(tick_ns);
    target.processes->Sample(tick_ns);
    target.cgroups->Sample(tick_ns);
  }
}

void Sampler::Publish(int64_t tick_ns) {
  for (auto& [id, target] : targets_) {
    if (!target.left) PublishTo(target, tick_ns - options_.join_slack_ns, false);
  }
  system_->Clear();
  cores_->Clear();
}

void Sampler::PublishTo(Target& target, int64_t promise_ns, bool goodbye) {
  Batch batch;
  batch.job = target.job.id;
  batch.owner = target.job.owner;
  batch.owner_declared = target.job.owner_declared;
  batch.source = Cat("node@", options_.node);
  batch.boot_id = target.boot_id;
  batch.info.kind = SourceKind::kNode;
  batch.info.node = options_.node;
  batch.info.start_ns = target.start_ns;
  batch.info.interval_ns = interval_ns_;
  batch.promise_ns = promise_ns;
  batch.goodbye = goodbye;
  batch.events = std::exchange(target.events, {});
  if (target.left) {  // a batch with events only
    sender_->Send(std::move(batch), &target.state);
    return;
  }
  const bool repeat = last_tick_ns_ - target.schemas_sent_ns >= kSchemaRepeatNs;
  if (repeat) target.schemas_sent_ns = last_tick_ns_;
  system_->AppendTo(repeat, &target.announced_system, &batch);
  if (target.has_cores) cores_->AppendTo(repeat, &target.announced_cores, &batch);
  target.gpus->AppendTo(repeat, &target.announced_gpus, &batch);
  target.processes->AppendTo(repeat, &target.announced_processes, &batch);
  target.cgroups->AppendTo(repeat, &target.announced_cgroup, &batch);
  if (std::exchange(target.withdraw_cores, false)) {
    // A row whose schema has no series marks the end of the series.
    batch.schemas.push_back(Schema{SchemaId(kCoreStream, {}), kCoreStream, {}});
    batch.frames.push_back({batch.schemas.back()->id, {&last_tick_ns_, 1}, {}, {}, {}});
    target.announced_cores = batch.schemas.back()->id;
  }
  sender_->Send(std::move(batch), &target.state);
  target.gpus->Clear();
  target.processes->Clear();
  target.cgroups->Clear();
}

void Sampler::End(const std::vector<EndedJob>& over) {
  for (const EndedJob& job : over) {
    const auto it = targets_.find(job.id);
    if (it == targets_.end()) continue;
    if (job.ended) sender_->cursors()->EndJob(job.id);
    // The end of a job from a file follows the ends of the processes that are known by now. This
    // source sends nothing more, so it may promise the current time.
    const int64_t at_ns = job.platform_end.has_value() ? time_->Now() : last_tick_ns_;
    const bool tells = job.ended || job.platform_end.has_value();
    if (tells) {
      JobEvent end;
      end.kind = job.ended ? JobEvent::Kind::kEnded : JobEvent::Kind::kNotice;
      end.time_ns = at_ns;
      end.name = it->second.job.name;
      end.reason = job.ended ? job.reason : kPlatformEnd;
      if (job.platform_end.has_value()) AddPlatformEnd(*job.platform_end, &end);
      it->second.events.push_back(std::move(end));
    }
    PITWALL_LOG(kInfo, "collector", "job ", Quote(job.id),
                job.ended ? " ended: " : " has left this node", job.reason);
    if (!it->second.left) announcer_->Forget(job.id);
    if (!it->second.left || tells) {
      PublishTo(it->second,
                job.platform_end.has_value() ? at_ns : last_tick_ns_ - options_.join_slack_ns,
                true);
    }
    targets_.erase(it);
  }
}

}  // namespace pitwall::collector
