#include "services/adapters/kafka/reader.h"

#include <algorithm>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::kafka {
namespace {

// Maximum duration of a Poll without records while the broker appears to be unavailable.
constexpr int64_t kProbeNs = kNanosPerSecond;
constexpr int64_t kFetchBytes = 4 << 20;
// When its queue is full, librdkafka stops fetching and checks again a second later, even if the
// queue is emptied sooner. Since version 2.2, a setting controls this delay. In earlier versions,
// the broker thread checks whenever it wakes up; see Poke.
constexpr int kBackoffIsASetting = 0x02020000;
constexpr int kQueueBackoffMs = 5;

Record ToRecord(const rd_kafka_message_t& message) {
  Record record;
  record.offset = message.offset;
  rd_kafka_timestamp_type_t type;
  const int64_t ms = rd_kafka_message_timestamp(&message, &type);
  record.append_time = AppendTime::FromNs(ms < 0 ? 0 : ms * kNanosPerMilli);
  if (message.key_len > 0)
    record.key.assign(static_cast<const char*>(message.key), message.key_len);
  record.tombstone = message.payload == nullptr;
  if (message.len > 0) record.value.assign(static_cast<const char*>(message.payload), message.len);
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    const char* name;
    const void* value;
    size_t size;
    for (size_t i = 0;
         rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
         ++i) {
      record.headers.emplace_back(name, value == nullptr
                                            ? std::string()
                                            : std::string(static_cast<const char*>(value), size));
    }
  }
  return record;
}

size_t SizeOf(const Record& record) {
  size_t size = record.key.size() + record.value.size();
  for (const auto& [name, value] : record.headers) size += name.size() + value.size();
  return size;
}

}  // namespace

StatusOr<std::unique_ptr<Reader>> Reader::Open(const KafkaLogOptions& options, Clock* clock,
                                               Topics* topics, const TopicPartition& at,
                                               int64_t from) {
  std::unique_ptr<Reader> reader(new Reader(options, clock, topics, at));
  RETURN_IF_ERROR(reader->Seek(from));
  return reader;
}

Status Reader::Start(int64_t offset) {
  ClientConfig config(options_);
  // assign() requires a group ID. The reader never joins the group and stores nothing in it.
  config.Set("group.id", options_.client_id)
      .Set("enable.auto.commit", "false")
      .Set("enable.auto.offset.store", "false")
      .Set("auto.offset.reset", "error")
      .Set("isolation.level", "read_committed")
      .Set("enable.partition.eof", "true")
      .Set("check.crcs", "true")
      .Set("allow.auto.create.topics", "false")
      .Set("fetch.error.backoff.ms", 100)
      .Set("fetch.message.max.bytes", std::min(kFetchBytes, options_.read_ahead_bytes))
      .Set("queued.max.messages.kbytes", options_.read_ahead_bytes >> 10);
  if (rd_kafka_version() >= kBackoffIsASetting)
    config.Set("fetch.queue.backoff.ms", kQueueBackoffMs);
  ASSIGN_OR_RETURN(auto client, config.Build(RD_KAFKA_CONSUMER, std::make_unique<ClientState>()));
  // Client errors arrive with the records, so one poll serves both.
  if (const auto error = rd_kafka_poll_set_consumer(client->get());
      error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return ErrorStatus(error, Name(at_));
  }
  QueuePtr queue(rd_kafka_queue_get_consumer(client->get()));
  if (queue == nullptr) return Internal(Cat(Name(at_), ": the consumer has no queue"));
  const ListPtr list = OffsetList(at_, offset);
  if (const auto error = rd_kafka_assign(client->get(), list.get());
      error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return ErrorStatus(error, Cat(Name(at_), ": read from offset ", offset));
  }
  {
    MutexLock lock(&mutex_);
    queue_.swap(queue);
    client_.swap(client);
  }
  queue.reset();
  position_ = offset;
  out_of_range_ = false;
  pending_ = OkStatus();
  return OkStatus();
}

StatusOr<int64_t> Reader::EndOffset() {
  return topics_->Offset(at_, Edge::kEnd, options_.request_timeout_ns);
}

StatusOr<int64_t> Reader::StartOffset() {
  return topics_->Offset(at_, Edge::kStart, options_.request_timeout_ns);
}

Status Reader::Seek(int64_t offset) {
  if (offset < kFromStart) return InvalidArgument(Cat(Name(at_), ": invalid seek offset ", offset));
  if (offset < 0) {
    ASSIGN_OR_RETURN(offset, offset == kFromStart ? StartOffset() : EndOffset());
  }
  return Start(offset);
}

void Reader::Interrupt() {
  interrupted_ = true;
  MutexLock lock(&mutex_);
  rd_kafka_queue_yield(queue_.get());
}

Status Reader::LeaveGap() {
  ASSIGN_OR_RETURN(const int64_t first, StartOffset());
  ASSIGN_OR_RETURN(const int64_t end, EndOffset());
  const int64_t lost_at = position_;
  if (lost_at < first) {
    RETURN_IF_ERROR(Start(first));
    return DataLoss(Cat(Name(at_), ": offsets ", lost_at, " to ", first - 1,
                        " are lost (retention or deletion); reading resumes at ", first));
  }
  if (lost_at > end) {
    RETURN_IF_ERROR(Start(end));
    return DataLoss(Cat(Name(at_), ": offset ", lost_at, " is after the end of the log, ", end,
                        " (the log was truncated or the topic was recreated); reading resumes at ",
                        end));
  }
  return Start(lost_at);  // the offset is valid by now
}

void Reader::Meet(const rd_kafka_message_t& event) {
  switch (event.err) {
    case RD_KAFKA_RESP_ERR__PARTITION_EOF:
      // The offset is after transaction markers and aborted records, which are never returned.
      position_ = std::max(position_, event.offset);
      return;
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
    case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
      out_of_range_ = true;
      return;
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__RESOLVE:
      // AfterSilence checks whether the broker is still unavailable.
      client_->state().all_brokers_down = true;
      return;
    default:
      pending_ = ErrorStatus(event.err, Cat(Name(at_), " at offset ", position_),
                             rd_kafka_message_errstr(&event));
  }
}

void Reader::Poke(size_t consumed) {
  consumed_ += consumed;
  if (rd_kafka_version() >= kBackoffIsASetting ||
      consumed_ < static_cast<size_t>(options_.read_ahead_bytes) / 2)
    return;
  consumed_ = 0;
  // Any request to the partition's leader wakes its broker thread. The response is ignored.
  const ListPtr list = OffsetList(at_, RD_KAFKA_OFFSET_END);
  (void)rd_kafka_offsets_for_times(client_->get(), list.get(), 0);
}

Status Reader::AfterSilence() {
  if (!client_->state().all_brokers_down) return OkStatus();
  RETURN_IF_ERROR(
      topics_->Offset(at_, Edge::kEnd, std::min(kProbeNs, options_.request_timeout_ns)).status());
  client_->state().all_brokers_down = false;
  return OkStatus();
}

Status Reader::Poll(size_t max_records, size_t max_bytes, Duration timeout,
                    std::vector<Record>* out) {
  if (max_records == 0) return OkStatus();
  const int64_t deadline = clock_->MonotonicNs() + std::max<int64_t>(timeout.ns(), 0);
  const int64_t before = position_;
  size_t records = 0;
  size_t bytes = 0;
  int64_t wait_ns = std::max<int64_t>(timeout.ns(), 0);
  bool woken_late = false;
  while (records == 0 || (records < max_records && bytes < max_bytes)) {
    // Records read before an error are returned first.
    if (out_of_range_ || !pending_.ok()) {
      if (records > 0) return OkStatus();
      if (!pending_.ok()) return std::exchange(pending_, OkStatus());
      RETURN_IF_ERROR(LeaveGap());
    }
    const bool have_something = records > 0 || position_ != before;
    if (!have_something && interrupted_.exchange(false)) return OkStatus();
    // Reads one record at a time: librdkafka's batch call waits for a full batch, and before
    // version 2.1 it lost offsets.
    const MessagePtr message(
        rd_kafka_consume_queue(queue_.get(), have_something ? 0 : TimeoutMs(wait_ns)));
    if (message == nullptr) {
      if (have_something || interrupted_.exchange(false)) return OkStatus();
      wait_ns = std::max<int64_t>(deadline - clock_->MonotonicNs(), 0);
      // The wait may end early because of an Interrupt that an earlier Poll has already handled.
      // This happens at most once because the queue's wakeup is consumed here.
      if (wait_ns > 0 && !woken_late) {
        woken_late = true;
        continue;
      }
      return AfterSilence();
    }
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      Meet(*message);
      wait_ns = std::max<int64_t>(deadline - clock_->MonotonicNs(), 0);
      continue;
    }
    if (message->offset < position_) {
      PITWALL_LOG(kWarning, "kafka", Name(at_), ": offset ", message->offset,
                  " was received again after ", position_);
      continue;
    }
    out->push_back(ToRecord(*message));
    position_ = message->offset + 1;
    ++records;
    bytes += SizeOf(out->back());
    Poke(SizeOf(out->back()));
  }
  return OkStatus();
}

}  // namespace pitwall::kafka
