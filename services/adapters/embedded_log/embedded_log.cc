#include "services/adapters/embedded_log/embedded_log.h"

#include <utility>

#include "services/adapters/embedded_log/log_core.h"
#include "services/adapters/embedded_log/partition_reader.h"
#include "services/base/text/strings.h"
#include "services/self_metrics/probe.h"

namespace pitwall::log {
namespace {

class LogAppender final : public Appender {
 public:
  explicit LogAppender(std::shared_ptr<LogCore> core) : core_(std::move(core)) {}

  Status Append(std::vector<OutgoingRecord> records) override {
    CommitRequest request;
    ASSIGN_OR_RETURN(request.records, core_->topics().Route(records));
    if (request.records.empty()) return OkStatus();
    return core_->Submit(&request);
  }

 private:
  const std::shared_ptr<LogCore> core_;
};

class LogCommitter final : public Committer {
 public:
  LogCommitter(std::shared_ptr<LogCore> core, std::string id, uint64_t epoch)
      : core_(std::move(core)), id_(std::move(id)), epoch_(epoch) {}

  Status Apply(const Commit& commit) override {
    CommitRequest request;
    ASSIGN_OR_RETURN(request.records, core_->topics().Route(commit.outputs));
    if (commit.next_offset >= 0) {
      ASSIGN_OR_RETURN(request.position,
                       core_->topics().MakePosition(commit.group, commit.input,
                                                    {commit.next_offset, commit.metadata}));
    } else if (commit.next_offset != -1) {
      return InvalidArgument(
          Cat("commit: next offset must be -1 or greater (got ", commit.next_offset, ")"));
    }
    request.committer = id_;
    request.epoch = epoch_;
    return core_->Submit(&request);
  }

 private:
  const std::shared_ptr<LogCore> core_;
  const std::string id_;
  const uint64_t epoch_;
};

class EmbeddedLogImpl final : public EmbeddedLog {
 public:
  EmbeddedLogImpl(std::shared_ptr<LogCore> core, self_metrics::Exposition* exposition)
      : core_(std::move(core)), probe_(exposition) {
    AddMetrics();
  }
  ~EmbeddedLogImpl() override { core_->Close(); }

  Status EnsureTopic(std::string_view topic, const TopicConfig& config) override {
    return core_->EnsureTopic(topic, config);
  }

  StatusOr<int32_t> Partitions(std::string_view topic) override {
    ASSIGN_OR_RETURN(const std::shared_ptr<const LiveTopic> found, core_->topics().Find(topic));
    return found->topic.config.partitions;
  }

  StatusOr<std::unique_ptr<PartitionReader>> OpenReader(const TopicPartition& at,
                                                        int64_t from) override {
    ASSIGN_OR_RETURN(CommittedState::Partition* const partition, core_->topics().FindPartition(at));
    auto reader = std::make_unique<SegmentPartitionReader>(core_->state(), core_->damage(),
                                                           partition, core_->clock());
    RETURN_IF_ERROR(reader->Seek(from));
    return reader;
  }

  StatusOr<std::unique_ptr<Appender>> OpenAppender() override {
    return std::make_unique<LogAppender>(core_);
  }

  StatusOr<std::unique_ptr<Committer>> OpenCommitter(std::string_view transactional_id) override {
    if (transactional_id.empty() || transactional_id.size() > kMaxNameBytes) {
      return InvalidArgument(Cat("transactional ID: must be 1 to ", kMaxNameBytes,
                                 " bytes long (got ", transactional_id.size(), ")"));
    }
    CommitRequest request;
    request.committer = std::string(transactional_id);
    request.open_committer = true;
    RETURN_IF_ERROR(core_->Submit(&request));
    return std::make_unique<LogCommitter>(core_, request.committer, request.epoch);
  }

  StatusOr<std::optional<CommittedOffset>> Committed(std::string_view group,
                                                     const TopicPartition& at) override {
    ASSIGN_OR_RETURN(CommittedState::Partition* const partition, core_->topics().FindPartition(at));
    return core_->state()->Position(group, partition->key());
  }

  Status StorePosition(std::string_view group, const TopicPartition& at,
                       const CommittedOffset& to) override {
    CommitRequest request;
    ASSIGN_OR_RETURN(request.position, core_->topics().MakePosition(group, at, to));
    return core_->Submit(&request);
  }

  std::vector<std::string> Topics() override { return core_->topics().Names(); }
  StatusOr<TopicConfig> Config(std::string_view topic) override {
    ASSIGN_OR_RETURN(const std::shared_ptr<const LiveTopic> found, core_->topics().Find(topic));
    return found->topic.config;
  }
  Status ApplyRetention() override { return core_->ApplyRetention(); }
  Status Maintain() override { return core_->Maintain(); }
  Status Sync() override { return core_->Sync(); }
  std::vector<DamageReport> Damage() override { return core_->damage()->reports(); }
  std::vector<DamageCount> DamageCounts() override { return core_->damage()->counts(); }
  EmbeddedLogStats Stats() override { return core_->Stats(); }

 private:
  void AddMetrics() {
    probe_.AddCounter("pitwall_log_failed_flushes_total", "Failed flushes of files of the log.",
                      [this] { return Stats().failed_flushes; });
    probe_.AddGauge("pitwall_log_suspended_partitions",
                    "Partitions that do not accept records because their data cannot be flushed.",
                    [this] { return Stats().suspended_partitions; });
    probe_.AddGauge("pitwall_log_retention_suspended",
                    "1 while retention by age is suspended after a jump of the wall clock.",
                    [this] { return Stats().retention_suspended; });
    probe_.AddGauge("pitwall_log_bytes", "Committed bytes of all segments.",
                    [this] { return Stats().segment_bytes; });
    probe_.AddGauge(
        "pitwall_log_clock_ahead_seconds",
        "Seconds by which append times are ahead of the wall clock after it was set back.",
        [this] { return static_cast<double>(Stats().clock_ahead_ns) / 1e9; });
    probe_.ListCounters("pitwall_log_damage_total",
                        "Damage found in the log since the start, by kind and topic; healed: "
                        "repaired without loss.",
                        [this](std::vector<self_metrics::Sample>* out) {
                          for (const DamageCount& damage : DamageCounts()) {
                            out->push_back({{{"kind", DamageKindName(damage.kind)},
                                             {"topic", damage.topic},
                                             {"healed", damage.healed ? "true" : "false"}},
                                            static_cast<double>(damage.count)});
                          }
                        });
  }

  const std::shared_ptr<LogCore> core_;
  self_metrics::Probe probe_;
};

}  // namespace

std::string_view DamageKindName(DamageKind kind) {
  switch (kind) {
    case DamageKind::kSegmentMissing:
      return "segment_missing";
    case DamageKind::kSegmentCut:
      return "segment_cut";
    case DamageKind::kSegmentHeader:
      return "segment_header";
    case DamageKind::kRecords:
      return "records";
    case DamageKind::kOffsets:
      return "offsets";
    case DamageKind::kJournal:
      return "journal";
    case DamageKind::kJournalCut:
      return "journal_cut";
    case DamageKind::kJournalMissing:
      return "journal_missing";
    case DamageKind::kSyncedMark:
      return "synced_mark";
    case DamageKind::kTopicFile:
      return "topic_file";
    case DamageKind::kTopicMissing:
      return "topic_missing";
    case DamageKind::kUnflushed:
      return "unflushed";
  }
  return "unknown";
}

StatusOr<std::unique_ptr<EmbeddedLog>> OpenEmbeddedLog(const EmbeddedLogOptions& options,
                                                       Clock* clock,
                                                       self_metrics::Exposition* exposition) {
  auto core = LogCore::Open(options, clock);
  if (!core.ok()) return Annotate(core.status(), "embedded log");
  return std::make_unique<EmbeddedLogImpl>(*std::move(core), exposition);
}

}  // namespace pitwall::log
