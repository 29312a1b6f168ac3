// Kafka appender: an idempotent producer with acks=all. Private to this module.
#pragma once

#include <memory>
#include <vector>

#include "services/adapters/kafka/client.h"
#include "services/adapters/kafka/topics.h"
#include "services/base/mutex.h"
#include "services/base/system/worker.h"

namespace pitwall::kafka {

// Producer and the thread that serves its delivery reports.
class PolledProducer {
 public:
  static StatusOr<std::shared_ptr<PolledProducer>> Open(const KafkaLogOptions& options);
  ~PolledProducer();
  rd_kafka_t* get() const { return client_->get(); }
  MetTopics& topics() { return topics_; }
  bool fatal() const { return client_->state().fatal; }

 private:
  explicit PolledProducer(std::unique_ptr<Client> client);

  const std::unique_ptr<Client> client_;
  const QueuePtr main_queue_;
  MetTopics topics_;
  Worker worker_;
};

class KafkaAppender final : public Appender {
 public:
  // Borrows `options`, `clock`, and `topics`.
  static StatusOr<std::unique_ptr<KafkaAppender>> Open(const KafkaLogOptions& options, Clock* clock,
                                                       Topics* topics);
  Status Append(std::vector<OutgoingRecord> records) override;

 private:
  KafkaAppender(const KafkaLogOptions& options, Clock* clock, Topics* topics,
                std::shared_ptr<PolledProducer> producer)
      : options_(options), clock_(clock), topics_(topics), producer_(std::move(producer)) {}

  // Returns the producer, which is recreated after a fatal error.
  StatusOr<std::shared_ptr<PolledProducer>> Producer();

  const KafkaLogOptions& options_;
  Clock* const clock_;
  Topics* const topics_;
  Mutex mutex_;
  std::shared_ptr<PolledProducer> producer_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::kafka
