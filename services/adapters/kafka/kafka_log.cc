#include "services/adapters/kafka/kafka_log.h"

#include <utility>

#include "services/adapters/kafka/appender.h"
#include "services/adapters/kafka/client.h"
#include "services/adapters/kafka/committer.h"
#include "services/adapters/kafka/groups.h"
#include "services/adapters/kafka/reader.h"
#include "services/adapters/kafka/topics.h"
#include "services/base/text/strings.h"

namespace pitwall::kafka {
namespace {

class KafkaLog final : public Log {
 public:
  KafkaLog(const KafkaLogOptions& options, Clock* clock)
      : options_(options), clock_(clock), groups_(options_, clock) {}

  Status Start() {
    ASSIGN_OR_RETURN(topics_, Topics::Open(options_, clock_));
    return OkStatus();
  }

  Status EnsureTopic(std::string_view topic, const TopicConfig& config) override {
    return topics_->Ensure(topic, config);
  }

  StatusOr<int32_t> Partitions(std::string_view topic) override {
    return topics_->Partitions(topic);
  }

  StatusOr<std::unique_ptr<PartitionReader>> OpenReader(const TopicPartition& at,
                                                        int64_t from) override {
    RETURN_IF_ERROR(CheckPartition(at));
    RETURN_IF_ERROR(topics_->CheckTimestamps(at.topic));
    ASSIGN_OR_RETURN(std::unique_ptr<PartitionReader> reader,
                     Reader::Open(options_, clock_, topics_.get(), at, from));
    return reader;
  }

  StatusOr<std::unique_ptr<Appender>> OpenAppender() override {
    ASSIGN_OR_RETURN(std::unique_ptr<Appender> appender,
                     KafkaAppender::Open(options_, clock_, topics_.get()));
    return appender;
  }

  StatusOr<std::unique_ptr<Committer>> OpenCommitter(std::string_view transactional_id) override {
    ASSIGN_OR_RETURN(std::unique_ptr<Committer> committer,
                     KafkaCommitter::Open(options_, clock_, topics_.get(), transactional_id));
    return committer;
  }

  StatusOr<std::optional<CommittedOffset>> Committed(std::string_view group,
                                                     const TopicPartition& at) override {
    RETURN_IF_ERROR(CheckPartition(at));
    return groups_.Committed(group, at);
  }

  Status StorePosition(std::string_view group, const TopicPartition& at,
                       const CommittedOffset& to) override {
    RETURN_IF_ERROR(CheckPartition(at));
    return groups_.Store(group, at, to);
  }

 private:
  Status CheckPartition(const TopicPartition& at) {
    ASSIGN_OR_RETURN(int32_t partitions, topics_->KnownPartitions(at.topic));
    if (at.partition >= partitions) {  // partitions may have been added since
      ASSIGN_OR_RETURN(partitions, topics_->Partitions(at.topic));
    }
    if (at.partition >= 0 && at.partition < partitions) return OkStatus();
    return NotFound(
        Cat(Name(at), ": no such partition; the topic has ", partitions, " partitions"));
  }

  const KafkaLogOptions options_;
  Clock* const clock_;
  std::unique_ptr<Topics> topics_;
  Groups groups_;
};

}  // namespace

StatusOr<std::unique_ptr<Log>> OpenKafkaLog(const KafkaLogOptions& options, Clock* clock) {
  RETURN_IF_ERROR(CheckOptions(options));
  auto log = std::make_unique<KafkaLog>(options, clock);
  RETURN_IF_ERROR(log->Start());
  return std::unique_ptr<Log>(std::move(log));
}

}  // namespace pitwall::kafka
