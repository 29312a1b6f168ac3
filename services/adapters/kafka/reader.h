// Implementation of PartitionReader for Kafka, based on a consumer with one manually assigned
// partition and read_committed. Private to this module.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "services/adapters/kafka/client.h"
#include "services/adapters/kafka/topics.h"
#include "services/base/mutex.h"
#include "services/base/time.h"

namespace pitwall::kafka {

class Reader final : public PartitionReader {
 public:
  // Opens a reader. The partition must exist. Borrows `options`, `clock`, and `topics`.
  static StatusOr<std::unique_ptr<Reader>> Open(const KafkaLogOptions& options, Clock* clock,
                                                Topics* topics, const TopicPartition& at,
                                                int64_t from);

  Status Poll(size_t max_records, size_t max_bytes, Duration timeout,
              std::vector<Record>* out) override;
  int64_t position() const override { return position_; }
  Status Seek(int64_t offset) override;
  StatusOr<int64_t> EndOffset() override;
  StatusOr<int64_t> StartOffset() override;
  void Interrupt() override;

 private:
  Reader(const KafkaLogOptions& options, Clock* clock, Topics* topics, const TopicPartition& at)
      : options_(options), clock_(clock), topics_(topics), at_(at) {}

  // Starts fetching at `offset` with a new client. The call discards earlier fetches, does not wait
  // for the fetch in flight, and takes a few milliseconds. A new client is necessary because
  // repeated assignment fails an assertion in librdkafka 2.0.
  Status Start(int64_t offset);
  // Handles a position that the broker rejected. Moves to a readable offset and reports the lost
  // records.
  Status LeaveGap();
  // Handles an event other than a record. Moves the position, or stores an error in pending_ or
  // out_of_range_.
  void Meet(const rd_kafka_message_t& event);
  Status AfterSilence();
  // Wakes older librdkafka versions when the queue has space again (see reader.cc).
  void Poke(size_t consumed);

  const KafkaLogOptions& options_;
  Clock* const clock_;
  Topics* const topics_;
  const TopicPartition at_;
  // Only the reading thread replaces these members, so that thread may read them without the lock.
  // Interrupt requires the lock.
  Mutex mutex_;
  std::unique_ptr<Client> client_;
  QueuePtr queue_;  // queue of the client; must be destroyed before the client
  std::atomic<bool> interrupted_{false};
  int64_t position_ = 0;
  size_t consumed_ = 0;  // bytes since the last Poke
  bool out_of_range_ = false;
  Status pending_;  // error to return after the records of the last Poll
};

}  // namespace pitwall::kafka
