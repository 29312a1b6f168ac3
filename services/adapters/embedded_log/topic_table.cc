#include "services/adapters/embedded_log/topic_table.h"

#include <algorithm>
#include <utility>

#include "services/adapters/embedded_log/format/batch.h"
#include "services/base/log.h"
#include "services/base/text/stable_hash.h"

namespace pitwall::log {
namespace {

void NoteInJournal(const TopicFact& fact, CommitWriter* writer) {
  // If the disk has no space for the frame now, the next checkpoint will contain the topic.
  const Status noted = writer->NoteTopic(fact);
  if (!noted.ok()) PITWALL_LOG(kWarning, "log", ToStd(noted.message()));
}

}  // namespace

void TopicTable::AddRecovered(Recovered* recovered) {
  MutexLock lock(&mutex_);
  for (const Topic& topic : recovered->topics) Add(topic, &recovered->partitions);
  next_topic_ = recovered->max_topic + 1;
}

void TopicTable::Add(const Topic& topic, Contents* contents) {
  auto live = std::make_shared<LiveTopic>();
  live->topic = topic;
  for (int32_t p = 0; p < topic.config.partitions; ++p) {
    const PartitionKey key{topic.number, p};
    PartitionContent content = std::move((*contents)[key]);
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

Status TopicTable::Create(std::string_view name, const TopicConfig& config, CommitWriter* writer) {
  if (topics_.size() >= kMaxTopics) {
    return ResourceExhausted(
        Cat("topic ", name, ": the log already has the maximum of ", kMaxTopics, " topics"));
  }
  ASSIGN_OR_RETURN(const Topic made,
                   CreateTopic(options_.dir, name, next_topic_, config, options_.faults));
  ++next_topic_;
  Contents empty;
  Add(made, &empty);
  NoteInJournal({made.number, made.name, made.config}, writer);
  return OkStatus();
}

Status TopicTable::Ensure(std::string_view name, const TopicConfig& config, CommitWriter* writer,
                          const std::function<Status()>& admit) {
  RETURN_IF_ERROR(CheckTopicName(name));
  RETURN_IF_ERROR(CheckTopicConfig(name, config));
  MutexLock lock(&mutex_);
  const auto found = topics_.find(name);
  if (found == topics_.end()) {
    RETURN_IF_ERROR(admit());
    return Create(name, config, writer);
  }
  const TopicConfig& old = found->second->topic.config;
  if (old.partitions != config.partitions || old.compacted != config.compacted) {
    return FailedPrecondition(Cat("topic ", name, " already exists with ", old.partitions,
                                  " partitions", old.compacted ? ", compacted" : "",
                                  "; the request has ", config.partitions, " partitions",
                                  config.compacted ? ", compacted" : ""));
  }
  if (old.retention_ms == config.retention_ms || writer == nullptr) return OkStatus();
  auto changed = std::make_shared<LiveTopic>(*found->second);
  changed->topic.config.retention_ms = config.retention_ms;
  RETURN_IF_ERROR(RewriteTopic(changed->topic, options_.faults));
  const TopicFact fact{changed->topic.number, changed->topic.name, changed->topic.config};
  found->second = std::move(changed);
  state_->NoteTopic(fact);
  NoteInJournal(fact, writer);
  return OkStatus();
}

StatusOr<std::shared_ptr<const LiveTopic>> TopicTable::Find(std::string_view name) {
  MutexLock lock(&mutex_);
  const auto found = topics_.find(name);
  if (found == topics_.end()) return NotFound(Cat("topic ", Quote(name), " does not exist"));
  return found->second;
}

StatusOr<CommittedState::Partition*> TopicTable::FindPartition(const TopicPartition& at) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const LiveTopic> topic, Find(at.topic));
  if (at.partition < 0 || at.partition >= topic->topic.config.partitions) {
    return InvalidArgument(Cat("topic ", at.topic, " has no partition ", at.partition,
                               "; partitions are 0 to ", topic->topic.config.partitions - 1));
  }
  return topic->partitions[static_cast<size_t>(at.partition)];
}

std::vector<std::shared_ptr<const LiveTopic>> TopicTable::All() {
  std::vector<std::shared_ptr<const LiveTopic>> all;
  {
    MutexLock lock(&mutex_);
    for (const auto& [name, topic] : topics_) all.push_back(topic);
  }
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a->topic.name < b->topic.name; });
  return all;
}

std::vector<std::string> TopicTable::Names() {
  std::vector<std::string> names;
  for (const auto& topic : All()) names.push_back(topic->topic.name);
  return names;
}

StatusOr<std::vector<RoutedRecord>> TopicTable::Route(const std::vector<OutgoingRecord>& records) {
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

StatusOr<GroupPosition> TopicTable::MakePosition(std::string_view group, const TopicPartition& at,
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
  return GroupPosition{std::string(group), partition->key(), to};
}

}  // namespace pitwall::log
