#include "services/collector/node_target.h"

#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/collector/gpu/gpu_monitor.h"

namespace pitwall::collector {

NodeTarget::NodeTarget(std::string node, const BoundJob& job, bool is_node,
                       NodeAnnouncer::Source source, int64_t tick_ns)
    : node_(std::move(node)), is_node_(is_node), source_(std::move(source)), streams_(!is_node) {
  job_.id = job.id;
  job_.name = job.name;
  if (is_node) return;
  if (job.by_client_only) {  // the job's first client announced it
    reference_ = job.announced;
  } else {
    Introduce(job, tick_ns);
  }
}

// Publishes the job's name, reference, and labels. A repeated event replaces the name and the
// reference but adds to the labels.
void NodeTarget::Introduce(const BoundJob& job, int64_t tick_ns) {
  JobEvent started;
  started.kind = JobEvent::Kind::kStarted;
  started.time = EventTime::FromNs(tick_ns);
  started.name = job.name;
  started.reference = reference_ = job.reference;
  started.labels = job.labels;
  events_.push_back(std::move(started));
}

void NodeTarget::Update(const BoundJob& job, int64_t tick_ns) {
  // The reference may change, for example when a client's process joins. Stop requests use the
  // latest reference.
  if (reference_ != job.reference || job_.name != job.name) Introduce(job, tick_ns);
  job_ = job;
}

bool NodeTarget::SetCgroup(const std::string& path) {
  if (path == cgroup_) return false;
  cgroup_ = path;
  return true;
}

bool NodeTarget::ShareGpus(bool withheld) {
  if (gpus_given_.has_value() && *gpus_given_ == std::pair(!withheld, job_.gpus)) return false;
  gpus_given_ = std::pair(!withheld, job_.gpus);
  return true;
}

void NodeTarget::NotifyWithheldGpus(bool withheld, int64_t tick_ns) {
  if (gpus_noticed_ == withheld) return;
  gpus_noticed_ = withheld;
  JobEvent notice;
  notice.kind = JobEvent::Kind::kNotice;
  notice.time = EventTime::FromNs(tick_ns);
  notice.name = job_.name;
  notice.reason = "gpu_split_unknown";
  if (gpus_noticed_) notice.series = GpuSeriesNames();  // an empty list clears the notice
  events_.push_back(std::move(notice));
}

void NodeTarget::AddEnd(const EndedJob& over, int64_t at_ns) {
  JobEvent end;
  end.kind = over.ended ? JobEvent::Kind::kEnded : JobEvent::Kind::kNotice;
  end.time = EventTime::FromNs(at_ns);
  end.name = job_.name;
  end.reason = over.ended ? over.reason : kPlatformEnd;
  if (over.platform_end.has_value()) AddPlatformEnd(*over.platform_end, &end);
  events_.push_back(std::move(end));
}

void NodeTarget::Publish(const SharedStreams& shared, const NodeTick& tick, int64_t promise_ns,
                         bool goodbye, BatchSender* sender) {
  Batch batch;
  batch.job = job_.id;
  batch.owner = job_.owner;
  batch.owner_declared = job_.owner_declared;
  batch.source = Cat("node@", node_);
  batch.boot_id = source_.boot_id;
  batch.info.kind = SourceKind::kNode;
  batch.info.node = node_;
  batch.info.start = EventTime::FromNs(source_.start_ns);
  batch.info.interval = Duration::Nanos(tick.interval_ns);
  batch.promise = EventTime::FromNs(promise_ns);
  batch.goodbye = goodbye;
  batch.events = std::exchange(events_, {});
  if (left_) {  // a batch with events only
    sender->Send(std::move(batch), &source_.state);
    return;
  }
  streams_.AppendTo(shared, tick.time_ns, &batch);
  sender->Send(std::move(batch), &source_.state);
  streams_.Clear();
}

void NodeTarget::Leave(const SharedStreams& shared, const NodeTick& tick, int64_t promise_ns,
                       BatchSender* sender) {
  Publish(shared, tick, promise_ns, true, sender);
  left_ = true;
}

}  // namespace pitwall::collector
