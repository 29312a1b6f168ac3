// In-memory log that contains only unread records, up to a limit. A load of many gigabytes can pass
// through it without a disk.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/io/io.h"
#include "services/io/topics.h"

namespace pitwall::history {

// Thread-safe. Each topic has one partition and one reader. Put blocks while too much data is
// unread.
class PipeLog final : public Log {
 public:
  static constexpr size_t kMostBytes = size_t{32} << 20;

  explicit PipeLog(Clock* clock) {
    for (const std::string_view topic :
         {kTelemetryTopic, kIssuesTopic, kActionsTopic, kCapturesTopic}) {
      auto& pipe = pipes_[std::string(topic)] = std::make_shared<Pipe>();
      pipe->filled = clock->NewWakeup();
    }
  }

  void Put(std::string_view topic, int64_t append_time_ns, std::string_view key,
           std::string value) {
    Pipe& pipe = *pipes_.at(std::string(topic));
    std::unique_lock lock(pipe.mutex);
    pipe.moved.wait(lock, [&] { return pipe.bytes < kMostBytes; });
    pipe.bytes += value.size();
    Record record;
    record.offset = pipe.end++;
    record.append_time = AppendTime::FromNs(append_time_ns);
    record.key = key;
    record.value = std::move(value);
    pipe.records.push_back(std::move(record));
    pipe.filled->Wake();
  }

  Status EnsureTopic(std::string_view, const TopicConfig&) override { return OkStatus(); }
  StatusOr<int32_t> Partitions(std::string_view topic) override {
    if (!pipes_.contains(std::string(topic))) return NotFound(Cat("topic ", topic));
    return 1;
  }
  StatusOr<std::unique_ptr<PartitionReader>> OpenReader(const TopicPartition& at,
                                                        int64_t) override {
    return std::make_unique<Reader>(pipes_.at(at.topic));
  }
  StatusOr<std::unique_ptr<Appender>> OpenAppender() override { return Unimplemented(); }
  StatusOr<std::unique_ptr<Committer>> OpenCommitter(std::string_view) override {
    return Unimplemented();
  }
  StatusOr<std::optional<CommittedOffset>> Committed(std::string_view,
                                                     const TopicPartition&) override {
    return std::optional<CommittedOffset>();
  }
  Status StorePosition(std::string_view, const TopicPartition&, const CommittedOffset&) override {
    return Unimplemented();
  }

 private:
  struct Pipe {
    std::mutex mutex;
    std::condition_variable moved;  // signals that records were read
    std::unique_ptr<Wakeup> filled;
    std::deque<Record> records;
    size_t bytes = 0;
    int64_t end = 0;
    bool interrupted = false;
  };

  class Reader final : public PartitionReader {
   public:
    explicit Reader(std::shared_ptr<Pipe> pipe) : pipe_(std::move(pipe)) {}
    Status Poll(size_t max_records, size_t max_bytes, Duration timeout,
                std::vector<Record>* out) override {
      std::unique_lock lock(pipe_->mutex);
      if (pipe_->records.empty() && !pipe_->interrupted) {
        lock.unlock();
        pipe_->filled->Wait(timeout.ns());
        lock.lock();
      }
      pipe_->interrupted = false;
      size_t bytes = 0;
      for (size_t i = 0; i < max_records && bytes < max_bytes && !pipe_->records.empty(); ++i) {
        Record& record = pipe_->records.front();
        bytes += record.value.size();
        position_ = record.offset + 1;
        out->push_back(std::move(record));
        pipe_->records.pop_front();
      }
      pipe_->bytes -= bytes;
      pipe_->moved.notify_all();
      return OkStatus();
    }
    int64_t position() const override { return position_; }
    Status Seek(int64_t) override { return Unimplemented(); }
    StatusOr<int64_t> EndOffset() override {
      const std::lock_guard lock(pipe_->mutex);
      return pipe_->end;
    }
    StatusOr<int64_t> StartOffset() override { return position_; }
    void Interrupt() override {
      const std::lock_guard lock(pipe_->mutex);
      pipe_->interrupted = true;
      pipe_->filled->Wake();
    }

   private:
    const std::shared_ptr<Pipe> pipe_;
    int64_t position_ = 0;
  };

  static Status Unimplemented() { return FailedPrecondition("PipeLog only supports reading"); }

  std::map<std::string, std::shared_ptr<Pipe>> pipes_;
};

}  // namespace pitwall::history
