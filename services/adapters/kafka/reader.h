// PartitionReader over Kafka: one consumer, one partition assigned by hand, read_committed. Private
// to this module.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "services/adapters/kafka/client.h"
#include "services/adapters/kafka/topics.h"
#include "services/base/mutex.h"

namespace pitwall::kafka {

class Reader final : public PartitionReader {
 public:
  // The partition must exist. `options`, `clock` and `topics` are borrowed.
  static StatusOr<std::unique_ptr<Reader>> Open(const KafkaLogOptions& options, Clock* clock,
                                                Topics* topics, const TopicPartition& at,
                                                int64_t from);

  Status Poll(size_t max_records, size_t max_bytes, int64_t timeout_ns,
              std::vector<Record>* out) override;
  int64_t position() const override { return position_; }
  Status Seek(int64_t offset) override;
  StatusOr<int64_t> EndOffset() override;
  StatusOr<int64_t> StartOffset() override;
  void Interrupt() override;

 private:
  Reader(const KafkaLogOptions& options, Clock* clock, Topics* topics, const TopicPartition& at)
      : options_(options), clock_(clock), topics_(topics), at_(at) {}

  // Fetches from `offset` on, with a new client: it forgets whatever was fetched before, need not
  // wait for the fetch under way, and costs a few milliseconds. (Assigning again and again makes
  // librdkafka 2.0 fail an assertion of its own.)
  Status Start(int64_t offset);
  // After the broker refused the position: goes to where reading is possible and says what is gone.
  Status LeaveGap();
  // What an event that is not a record means: moves the position, or remembers trouble in
  // pending_/out_of_range_.
  void Meet(const rd_kafka_message_t& event);
  Status AfterSilence();
  // Tells an old librdkafka that there is room again (see reader.cc).
  void Poke(size_t consumed);

  const KafkaLogOptions& options_;
  Clock* const clock_;
  Topics* const topics_;
  const TopicPartition at_;
  // Replaced by the reading thread only, which therefore reads them without the lock; Interrupt
  // needs it.
  Mutex mutex_;
  std::unique_ptr<Client> client_;
  QueuePtr queue_;  // of the client, and destroyed before it
  std::atomic<bool> interrupted_{false};
  int64_t position_ = 0;
  size_t consumed_ = 0;  // bytes since the last poke
  bool out_of_range_ = false;
  Status pending_;  // met behind records that the last Poll returned
};

}  // namespace pitwall::kafka
