#include "services/adapters/embedded_log/log_core.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "services/adapters/embedded_log/compaction.h"
#include "services/adapters/embedded_log/format/batch.h"
#include "services/adapters/embedded_log/format/commit_journal.h"
#include "services/adapters/embedded_log/retention.h"
#include "services/base/log.h"
#include "services/base/text/stable_hash.h"

namespace pitwall::log {
namespace {

constexpr int64_t kRetainEveryNs = 60 * kNanosPerSecond;
// File with the last wall time accepted for retention, in nanoseconds as text. After a restart, the
// log continues from that time.
constexpr std::string_view kAgeFile = "retention-time";
constexpr size_t kMaxAgeBytes = 64;
constexpr int64_t kSaveAgeNs = 600 * kNanosPerSecond;

Status CheckOptions(const EmbeddedLogOptions& o) {
  if (o.dir.empty()) return InvalidArgument("embedded log: dir must be set");
  if (o.max_record_bytes == 0 || o.max_record_bytes > kLargestRecordBytes) {
    return InvalidArgument(Cat("embedded log: max_record_bytes must be 1 to ", kLargestRecordBytes,
                               " (got ", o.max_record_bytes, ")"));
  }
  if (o.segment_bytes < 1 || o.segment_ms < 1 || o.checkpoint_bytes < 1 ||
      o.fsync_interval_ms < 1 || o.tombstone_retention_ms < 0) {
    return InvalidArgument(
        "embedded log: segment_bytes, segment_ms, checkpoint_bytes, and fsync_interval_ms must be "
        "at least 1, and tombstone_retention_ms must be at least 0");
  }
  if (!(o.compaction_dirty_share > 0 && o.compaction_dirty_share <= 1)) {
    return InvalidArgument("embedded log: compaction_dirty_share must be in (0, 1]");
  }
  return OkStatus();
}

void Warn(const Status& status) {
  if (!status.ok()) PITWALL_LOG(kWarning, "log", ToStd(status.message()));
}

}  // namespace

LogCore::LogCore(const EmbeddedLogOptions& options, Clock* clock)
    : options_(options),
      clock_(clock),
      state_(std::make_shared<CommittedState>()),
      damage_(std::make_shared<DamageLog>()) {}

LogCore::~LogCore() { Close(); }

StatusOr<std::shared_ptr<LogCore>> LogCore::Open(const EmbeddedLogOptions& options, Clock* clock) {
  RETURN_IF_ERROR(CheckOptions(options));
  std::shared_ptr<LogCore> core(new LogCore(options, clock));
  RETURN_IF_ERROR(core->Start());
  return core;
}

Status LogCore::Start() {
  if (!options_.read_only) {
    RETURN_IF_ERROR(files::MakeDirectories(options_.dir));
    ASSIGN_OR_RETURN(lock_, files::DirectoryLock::Take(options_.dir));
    ASSIGN_OR_RETURN(const int64_t tightened, files::TightenModes(options_.dir));
    if (tightened > 0) {
      PITWALL_LOG(
          kWarning, "log", options_.dir, ": ", tightened,
          " files and directories were accessible to other users; restricted them to their owner");
    }
  }
  ASSIGN_OR_RETURN(Recovered recovered, Recover(options_, damage_.get()));
  if (!options_.read_only) {
    RETURN_IF_ERROR(files::MakeDirectories(Cat(options_.dir, "/topics")));
    RETURN_IF_ERROR(files::MakeDirectories(Cat(options_.dir, "/commits")));
    RETURN_IF_ERROR(files::RemoveTree(Cat(options_.dir, "/making-topic")));
    RETURN_IF_ERROR(ClearAway(options_, recovered, damage_->reports()));
  }
  if (!options_.read_only && options_.background) {
    std::map<PartitionKey, std::shared_ptr<const PartitionContent>> contents;
    for (const Unverified& rest : recovered.unverified) {
      auto& content = contents[rest.key];
      if (content == nullptr) {
        content = std::make_shared<const PartitionContent>(recovered.partitions[rest.key]);
      }
      to_verify_.push_back([this, content, index = rest.index, facts = recovered.facts[rest.key],
                            dir = recovered.files[rest.key].dir] {
        return VerifySegment(facts, dir, *content, index, damage_.get());
      });
    }
  }
  {
    MutexLock lock(&topics_mutex_);
    for (const Topic& topic : recovered.topics) AddTopic(topic, &recovered);
    next_topic_ = recovered.max_topic + 1;
  }
  CommittedState::Publication publication;
  publication.positions = std::move(recovered.positions);
  publication.epochs = std::move(recovered.epochs);
  state_->Publish(publication);
  if (options_.read_only) return OkStatus();
  {
    MutexLock lock(&maintenance_mutex_);
    RETURN_IF_ERROR(LoadAge(recovered.sequence > 0));
  }

  CommitWriter::Start start;
  start.sequence = recovered.sequence;
  ASSIGN_OR_RETURN(start.journal,
                   CommitJournal::Open(Cat(options_.dir, "/commits"), recovered.journal_number,
                                       recovered.journal_bytes, recovered.checkpoint_bytes,
                                       recovered.flush_journal, options_.faults));
  if (recovered.journal_number == 0) RETURN_IF_ERROR(files::SyncDirectory(options_.dir));
  wake_flusher_ = clock_->NewWakeup();
  wake_keeper_ = clock_->NewWakeup();
  CommitWriter::Wake wake{[this] { wake_flusher_->Wake(); }, [this] { wake_keeper_->Wake(); }};
  writer_ = std::make_unique<CommitWriter>(options_, clock_, state_.get(), std::move(start),
                                           std::move(wake));
  if (recovered.rewrite_journal) RETURN_IF_ERROR(writer_->Checkpoint());
  if (options_.background) {
    if (options_.fsync == FsyncPolicy::kInterval) flusher_ = std::thread([this] { Flush(); });
    keeper_ = std::thread([this] { Keep(); });
  }
  return OkStatus();
}

void LogCore::AddTopic(const Topic& topic, Recovered* recovered) {
  auto live = std::make_shared<LiveTopic>();
  live->topic = topic;
  for (int32_t p = 0; p < topic.config.partitions; ++p) {
    const PartitionKey key{topic.number, p};
    PartitionContent content;
    if (recovered != nullptr) content = std::move(recovered->partitions[key]);
    if (options_.read_only && topic.config.compacted) {
      // A concurrent writer may compact the topic, so the files are kept open to stay readable.
      for (const SegmentInfo& info : content.segments) {
        const Status pinned = info.segment->Pin();
        if (!pinned.ok()) PITWALL_LOG(kWarning, "log", ToStd(pinned.message()));
      }
    }
    live->partitions.push_back(
        state_->Add(key, Cat(topic.name, "/", p), topic.PartitionDir(p), std::move(content)));
  }
  topics_[topic.name] = std::move(live);
  state_->NoteTopic({topic.number, topic.name, topic.config});
}

Status LogCore::RequireWritable() const {
  if (writer_ != nullptr) return OkStatus();
  return FailedPrecondition(Cat("data directory ", options_.dir, " is open read-only"));
}

Status LogCore::EnsureTopic(std::string_view name, const TopicConfig& config) {
  RETURN_IF_ERROR(CheckTopicName(name));
  RETURN_IF_ERROR(CheckTopicConfig(name, config));
  MutexLock lock(&topics_mutex_);
  const auto found = topics_.find(name);
  if (found == topics_.end()) {
    RETURN_IF_ERROR(RequireWritable());
    {
      MutexLock close_lock(&close_mutex_);
      if (closed_) return FailedPrecondition("the log is closed");
    }
    if (topics_.size() >= kMaxTopics) {
      return ResourceExhausted(
          Cat("topic ", name, ": the log already has the maximum of ", kMaxTopics, " topics"));
    }
    ASSIGN_OR_RETURN(const Topic made,
                     CreateTopic(options_.dir, name, next_topic_, config, options_.faults));
    ++next_topic_;
    AddTopic(made, nullptr);
    // If the journal has no space for the frame now, the next checkpoint will contain the topic.
    Warn(writer_->NoteTopic({made.number, made.name, made.config}));
    return OkStatus();
  }
  const TopicConfig& old = found->second->topic.config;
  if (old.partitions != config.partitions || old.compacted != config.compacted) {
    return FailedPrecondition(Cat("topic ", name, " already exists with ", old.partitions,
                                  " partitions", old.compacted ? ", compacted" : "",
                                  "; the request has ", config.partitions, " partitions",
                                  config.compacted ? ", compacted" : ""));
  }
  if (old.retention_ms == config.retention_ms || writer_ == nullptr) return OkStatus();
  auto changed = std::make_shared<LiveTopic>(*found->second);
  changed->topic.config.retention_ms = config.retention_ms;
  RETURN_IF_ERROR(RewriteTopic(changed->topic, options_.faults));
  const TopicFact fact{changed->topic.number, changed->topic.name, changed->topic.config};
  found->second = std::move(changed);
  state_->NoteTopic(fact);
  Warn(writer_->NoteTopic(fact));
  return OkStatus();
}

StatusOr<std::shared_ptr<const LiveTopic>> LogCore::Find(std::string_view name) {
  MutexLock lock(&topics_mutex_);
  const auto found = topics_.find(name);
  if (found == topics_.end()) return NotFound(Cat("topic ", Quote(name), " does not exist"));
  return found->second;
}

StatusOr<CommittedState::Partition*> LogCore::FindPartition(const TopicPartition& at) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const LiveTopic> topic, Find(at.topic));
  if (at.partition < 0 || at.partition >= topic->topic.config.partitions) {
    return InvalidArgument(Cat("topic ", at.topic, " has no partition ", at.partition,
                               "; partitions are 0 to ", topic->topic.config.partitions - 1));
  }
  return topic->partitions[static_cast<size_t>(at.partition)];
}

std::vector<std::shared_ptr<const LiveTopic>> LogCore::AllTopics() {
  std::vector<std::shared_ptr<const LiveTopic>> all;
  {
    MutexLock lock(&topics_mutex_);
    for (const auto& [name, topic] : topics_) all.push_back(topic);
  }
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a->topic.name < b->topic.name; });
  return all;
}

std::vector<std::string> LogCore::TopicNames() {
  std::vector<std::string> names;
  for (const auto& topic : AllTopics()) names.push_back(topic->topic.name);
  return names;
}

StatusOr<std::vector<RoutedRecord>> LogCore::Route(const std::vector<OutgoingRecord>& records) {
  std::vector<RoutedRecord> routed;
  routed.reserve(records.size());
  std::shared_ptr<const LiveTopic> topic;
  for (const OutgoingRecord& record : records) {
    if (topic == nullptr || topic->topic.name != record.topic) {
      ASSIGN_OR_RETURN(topic, Find(record.topic));
    }
    const int32_t count = topic->topic.config.partitions;
    const int32_t p =
        record.partition == kByKey ? PartitionOf(record.key, count) : record.partition;
    if (p < 0 || p >= count) {
      return InvalidArgument(Cat("topic ", record.topic, " has no partition ", p,
                                 "; partitions are 0 to ", count - 1));
    }
    if (RecordBytes(record) > options_.max_record_bytes) {
      return InvalidArgument(Cat("record for topic ", record.topic, " must be at most ",
                                 options_.max_record_bytes, " bytes long (got ",
                                 RecordBytes(record), ")"));
    }
    if (record.headers.size() > kMaxHeaders) {
      return InvalidArgument(Cat("record for topic ", record.topic, " must have at most ",
                                 kMaxHeaders, " headers (got ", record.headers.size(), ")"));
    }
    routed.push_back({topic->partitions[static_cast<size_t>(p)], &record});
  }
  return routed;
}

StatusOr<GroupPosition> LogCore::MakePosition(std::string_view group, const TopicPartition& at,
                                              const CommittedOffset& to) {
  if (group.empty() || group.size() > kMaxNameBytes) {
    return InvalidArgument(
        Cat("group name must be 1 to ", kMaxNameBytes, " bytes long (got ", group.size(), ")"));
  }
  if (to.offset < 0)
    return InvalidArgument(
        Cat("group ", group, ": position must be at least 0 (got ", to.offset, ")"));
  if (to.metadata.size() > kMaxMetadataBytes) {
    return InvalidArgument(Cat("group ", group, ": metadata must be at most ", kMaxMetadataBytes,
                               " bytes long (got ", to.metadata.size(), ")"));
  }
  ASSIGN_OR_RETURN(CommittedState::Partition* const partition, FindPartition(at));
  return GroupPosition{std::string(group), CommittedState::Key(partition), to};
}

Status LogCore::Submit(CommitRequest* request) {
  RETURN_IF_ERROR(RequireWritable());
  return writer_->Submit(request);
}

Status LogCore::Sync() {
  RETURN_IF_ERROR(RequireWritable());
  return writer_->Sync(/*durable_mark=*/false);
}

Status LogCore::LoadAge(bool has_records) {
  const std::string path = Cat(options_.dir, "/", kAgeFile);
  const StatusOr<std::string> text = files::ReadWhole(path, kMaxAgeBytes);
  if (!text.ok() && !absl::IsNotFound(text.status())) return text.status();
  const std::optional<int64_t> accepted = text.ok() ? ParseInt(Trim(*text)) : std::nullopt;
  if (text.ok() && !accepted.has_value())
    PITWALL_LOG(kWarning, "log", path,
                ": does not contain a time in nanoseconds; retention starts in a day");
  saved_age_ns_ = accepted;
  // A log without records has nothing to lose, so the current wall time is accepted.
  if (accepted.has_value() || !has_records) age_clock_.Restore(accepted.value_or(clock_->WallNs()));
  AcceptedTime();  // monotonic time counts from this point on
  return OkStatus();
}

std::optional<int64_t> LogCore::AcceptedTime() {
  const std::optional<int64_t> accepted =
      age_clock_.Advance(clock_->WallNs(), clock_->MonotonicNs());
  if (const bool now = age_clock_.suspended(); now != retention_suspended_.exchange(now)) {
    PITWALL_LOG(kWarning, "log",
                now ? "retention is suspended: the wall clock is more than an hour ahead of the "
                      "elapsed time; the new time is accepted if the difference lasts for a day"
                    : "retention has resumed");
  }
  if (!accepted.has_value()) return accepted;
  if (saved_age_ns_.has_value() && *accepted >= *saved_age_ns_ &&
      *accepted - *saved_age_ns_ < kSaveAgeNs)
    return accepted;
  // If the disk is full, the file keeps the older time, and a later start waits longer than
  // necessary.
  const Status saved =
      files::ReplaceFile(Cat(options_.dir, "/", kAgeFile), Cat(*accepted, "\n"), nullptr);
  if (saved.ok()) saved_age_ns_ = accepted;
  return accepted;
}

Status LogCore::RetainLocked() {
  const std::optional<int64_t> accepted_ns = AcceptedTime();
  if (!accepted_ns.has_value()) return OkStatus();
  const int64_t now_ns = *accepted_ns;
  Status first = OkStatus();
  for (const auto& topic : AllTopics()) {
    const int64_t retention_ms = topic->topic.config.retention_ms;
    if (retention_ms < 0 || retention_ms > now_ns / kNanosPerMilli) continue;
    const int64_t cutoff_ns = now_ns - retention_ms * kNanosPerMilli;
    for (CommittedState::Partition* partition : topic->partitions) {
      const auto deleted = DeleteExpired(state_.get(), partition, writer_.get(), cutoff_ns);
      if (deleted.ok()) {
        segments_deleted_ += *deleted;
      } else if (first.ok()) {
        first = Annotate(deleted.status(), Cat("retention of ", CommittedState::Name(partition)));
      }
    }
  }
  return first;
}

Status LogCore::CompactLocked() {
  CompactionPolicy policy;
  policy.segment_bytes = options_.segment_bytes;
  policy.dirty_share = options_.compaction_dirty_share;
  policy.map_bytes = options_.compaction_map_bytes;
  policy.compress = options_.compress;
  policy.faults = options_.faults;
  const int64_t now_ns = AcceptedTime().value_or(INT64_MIN);
  policy.tombstone_cutoff_ns = options_.tombstone_retention_ms > now_ns / kNanosPerMilli
                                   ? INT64_MIN
                                   : now_ns - options_.tombstone_retention_ms * kNanosPerMilli;
  Status first = OkStatus();
  for (const auto& topic : AllTopics()) {
    if (!topic->topic.config.compacted) continue;
    for (CommittedState::Partition* partition : topic->partitions) {
      // Each pass processes as many segments as the memory limit allows and makes at least one of
      // them clean.
      for (bool more = true; more;) {
        const auto written =
            CompactPartition(policy, state_.get(), partition, writer_.get(), damage_.get());
        more = written.ok() && *written > 0;
        compactions_ += more ? 1 : 0;
        if (!written.ok() && first.ok()) {
          first =
              Annotate(written.status(), Cat("compaction of ", CommittedState::Name(partition)));
        }
      }
    }
  }
  return first;
}

Status LogCore::ApplyRetention() {
  RETURN_IF_ERROR(RequireWritable());
  MutexLock lock(&maintenance_mutex_);
  return RetainLocked();
}

Status LogCore::Maintain() {
  RETURN_IF_ERROR(RequireWritable());
  MutexLock lock(&maintenance_mutex_);
  const Status retained = RetainLocked();
  const Status compacted = CompactLocked();
  return retained.ok() ? compacted : retained;
}

void LogCore::Flush() {
  while (!stop_.load()) {
    wake_flusher_->Wait(-1);
    if (stop_.load()) return;
    // The first commit after a flush starts the interval. Later commits within the interval share
    // the flush.
    wake_flusher_->Wait(options_.fsync_interval_ms * kNanosPerMilli);
    if (writer_->dirty()) Warn(writer_->Sync(/*durable_mark=*/false));
  }
}

void LogCore::VerifyRest() {
  for (; !to_verify_.empty() && !stop_.load(); to_verify_.pop_back()) {
    const Status verified = to_verify_.back()();
    // NotFound means that retention or compaction deleted the segment.
    if (verified.code() != absl::StatusCode::kNotFound) Warn(verified);
  }
}

void LogCore::Keep() {
  // Retention also runs periodically, because no segment is ever closed in an idle log or on a full
  // disk.
  int64_t retain_at_ns = clock_->MonotonicNs();
  while (!stop_.load()) {
    const int64_t left_ns = retain_at_ns - clock_->MonotonicNs();
    if (left_ns > 0) wake_keeper_->Wait(left_ns);
    if (stop_.load()) return;
    if (writer_->CheckpointDue()) Warn(writer_->Checkpoint());
    if (writer_->TakeRolled()) {
      Warn(Maintain());
    } else if (clock_->MonotonicNs() >= retain_at_ns) {
      Warn(ApplyRetention());
    } else {
      continue;
    }
    retain_at_ns = clock_->MonotonicNs() + kRetainEveryNs;
    VerifyRest();
  }
}

void LogCore::Close() {
  {
    MutexLock lock(&close_mutex_);
    if (closed_) return;
    closed_ = true;
  }
  stop_.store(true);
  if (flusher_.joinable()) {
    wake_flusher_->Wake();
    flusher_.join();
  }
  if (keeper_.joinable()) {
    wake_keeper_->Wake();
    keeper_.join();
  }
  if (writer_ != nullptr) {
    MutexLock lock(&maintenance_mutex_);
    const Status closed = writer_->Close();
    Warn(Annotate(closed, "on close"));
  }
  lock_.reset();
}

EmbeddedLogStats LogCore::Stats() {
  EmbeddedLogStats stats;
  if (writer_ != nullptr) writer_->AddTo(&stats);
  std::tie(stats.segments, stats.segment_bytes) = state_->Totals();
  stats.segments_deleted = segments_deleted_.load();
  stats.compactions = compactions_.load();
  stats.retention_suspended = retention_suspended_.load();
  return stats;
}

}  // namespace pitwall::log
