#include "services/app/cli/backtest/replayed_log.h"

#include <dirent.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

#include "services/adapters/clock/system_clock.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/codec/telemetry_codec.h"
#include "services/io/partition_scan.h"
#include "services/io/topics.h"
#include "services/processor/commit_metadata.h"
#include "services/processor/partition_processor.h"
#include "services/processor/processor.h"

namespace pitwall {

namespace {

constexpr size_t kFlushRecords = 2000;
constexpr size_t kFlushBytes = size_t{4} << 20;

// Returns true if the directory is empty, or NotFound if it does not exist.
StatusOr<bool> IsEmptyFolder(const std::string& path) {
  DIR* const folder = ::opendir(path.c_str());
  if (folder == nullptr) return ErrnoStatus(errno, path);
  bool empty = true;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string_view name = entry->d_name;
    empty = empty && (name == "." || name == "..");
  }
  ::closedir(folder);
  return empty;
}

}  // namespace

// Clock that returns the time of the current record. The log uses this time as the append time.
class ReplayedLog::ReplayClock final : public Clock {
 public:
  int64_t WallNs() const override { return now_ns_; }
  int64_t MonotonicNs() const override { return now_ns_; }
  std::unique_ptr<Wakeup> NewWakeup() override { return waiting_.NewWakeup(); }
  int64_t now() const { return now_ns_; }
  void Set(int64_t now_ns) { now_ns_ = now_ns; }

 private:
  std::atomic<int64_t> now_ns_ = 0;
  clock::SystemClock waiting_;
};

ReplayedLog::ReplayedLog(engine::CompiledRulesPtr rules)
    : clock_(std::make_unique<ReplayClock>()), rules_(std::move(rules)) {}

ReplayedLog::~ReplayedLog() = default;

StatusOr<std::unique_ptr<ReplayedLog>> ReplayedLog::Make(const std::string& dir, int32_t partitions,
                                                         engine::CompiledRulesPtr rules) {
  const StatusOr<bool> empty = IsEmptyFolder(dir);
  if (!empty.ok() && !absl::IsNotFound(empty.status())) return empty.status();
  if (empty.ok() && !*empty)
    return FailedPrecondition(Cat(dir, ": directory must be new or empty; specify another one"));
  auto out = std::unique_ptr<ReplayedLog>(new ReplayedLog(std::move(rules)));
  log::EmbeddedLogOptions options;
  options.dir = dir + "/log";
  options.background = false;
  options.fsync = log::FsyncPolicy::kNever;  // Finish flushes the log
  ASSIGN_OR_RETURN(out->log_, log::OpenEmbeddedLog(options, out->clock_.get()));
  // Retention is disabled because the source records may be older than the retention time.
  RETURN_IF_ERROR(processor::EnsureTopics(
      out->log_.get(), {.telemetry_partitions = partitions, .telemetry_retention_ms = -1}));
  ASSIGN_OR_RETURN(out->appender_, out->log_->OpenAppender());
  return out;
}

Status ReplayedLog::CopyOthers(Log* source, std::vector<std::string>* damage) {
  if (rules_ == nullptr) {
    RETURN_IF_ERROR(CopyTopic(source, kRulesTopic, damage));
  } else {
    rules_hash_ = rules_->hash();
    RETURN_IF_ERROR(processor::RuleSets(log_.get()).Publish(rules_));
  }
  RETURN_IF_ERROR(CopyTopic(source, kActionsTopic, damage));
  RETURN_IF_ERROR(CopyTopic(source, kNotificationsTopic, damage));
  return CopyTopic(source, kCapturesTopic, damage);
}

Status ReplayedLog::CopyTopic(Log* source, std::string_view topic,
                              std::vector<std::string>* damage) {
  const StatusOr<int32_t> partitions = source->Partitions(topic);
  if (absl::IsNotFound(partitions.status())) return OkStatus();  // the log contains only telemetry
  RETURN_IF_ERROR(partitions.status());
  for (int32_t p = 0; p < *partitions; ++p) {
    ASSIGN_OR_RETURN(PartitionScan scan,
                     PartitionScan::Open(source, {std::string(topic), p}, kFromStart,
                                         {.max_records = kFlushRecords,
                                          .max_bytes = kFlushBytes,
                                          .on_loss = [&](const Status& lost) {
                                            damage->push_back(Cat(topic, " partition ", p, ": ",
                                                                  ToStd(lost.message())));
                                          }}));
    while (true) {
      ASSIGN_OR_RETURN(Record* const record, scan.Next());
      if (record == nullptr) break;
      RETURN_IF_ERROR(Add({.topic = std::string(topic),
                           .partition = p,
                           .key = std::move(record->key),
                           .value = std::move(record->value),
                           .tombstone = record->tombstone,
                           .headers = std::move(record->headers)}));
    }
  }
  return Flush();
}

Status ReplayedLog::Telemetry(int32_t partition, const Record& record) {
  const bool first = begun_.insert(partition).second;
  // The clock moves backward only when a new partition starts. Within a partition, append times
  // never decrease.
  if (first || record.append_time.ns() > clock_->now()) {
    RETURN_IF_ERROR(Flush());
    clock_->Set(record.append_time.ns());
  }
  if (first && rules_ != nullptr) {
    OutgoingRecord change{.topic = std::string(kTelemetryTopic),
                          .partition = partition,
                          .key = std::string(kControlKey)};
    codec::EncodeControl(
        {.kind = ControlRecord::Kind::kRuleSetChange, .rule_set_hash = rules_->hash()},
        &change.value);
    RETURN_IF_ERROR(Add(std::move(change)));
  }
  if (record.key == kControlKey) {
    codec::BatchDecoder decoder;
    const StatusOr<codec::DecodedRecord> decoded = decoder.Decode(record.value);
    if (decoded.ok() && decoded->control != nullptr &&
        decoded->control->kind == ControlRecord::Kind::kRuleSetChange) {
      if (rules_ != nullptr) return OkStatus();
      rules_hash_ = decoded->control->rule_set_hash;
    }
  }
  return Add({.topic = std::string(kTelemetryTopic),
              .partition = partition,
              .key = record.key,
              .value = record.value,
              .tombstone = record.tombstone,
              .headers = record.headers});
}

Status ReplayedLog::Events(int32_t partition, const std::vector<IssueEvent>& events, size_t from) {
  for (size_t i = from; i < events.size(); ++i) {
    RETURN_IF_ERROR(Add({.topic = std::string(kIssuesTopic),
                         .partition = partition,
                         .key = events[i].job,
                         .value = cloudevents::EncodeCloudEvent(events[i])}));
  }
  return OkStatus();
}

Status ReplayedLog::Finish(int32_t partition) {
  RETURN_IF_ERROR(Flush());
  const TopicPartition at{std::string(kTelemetryTopic), partition};
  ASSIGN_OR_RETURN(const std::unique_ptr<PartitionReader> reader, log_->OpenReader(at, kFromEnd));
  ASSIGN_OR_RETURN(const int64_t end, reader->EndOffset());
  processor::CommitMetadata metadata;
  metadata.replay = end;
  metadata.rules = rules_hash_;
  metadata.snapshots = processor::SnapshotSum();
  RETURN_IF_ERROR(
      log_->StorePosition(processor::PartitionOptions().group, at,
                          {.offset = end, .metadata = processor::EncodeCommitMetadata(metadata)}));
  return log_->Sync();
}

Status ReplayedLog::Add(OutgoingRecord record) {
  waiting_bytes_ += record.key.size() + record.value.size();
  waiting_.push_back(std::move(record));
  return waiting_.size() >= kFlushRecords || waiting_bytes_ >= kFlushBytes ? Flush() : OkStatus();
}

Status ReplayedLog::Flush() {
  if (waiting_.empty()) return OkStatus();
  RETURN_IF_ERROR(appender_->Append(std::move(waiting_)));
  waiting_.clear();
  waiting_bytes_ = 0;
  return OkStatus();
}

}  // namespace pitwall
