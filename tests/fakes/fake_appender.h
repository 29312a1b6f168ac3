// In-memory appender for tests of writers.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "services/base/status.h"
#include "services/io/io.h"

namespace pitwall::fakes {

// Appender that keeps every record in memory. Tests can make it fail or block. Thread-safe.
class FakeAppender final : public Appender {
 public:
  Status Append(std::vector<OutgoingRecord> records) override {
    std::unique_lock<std::mutex> lock(mutex_);
    ++calls_;
    changed_.notify_all();
    // A log accepts records for one partition even if another partition fails.
    const bool one = std::any_of(records.begin(), records.end(),
                                 [this](const OutgoingRecord& r) { return r.key == key_; });
    while (corked_ || (one && key_corked_)) changed_.wait(lock);
    if (one && !key_failure_.ok()) {
      changed_.notify_all();
      return key_failure_;
    }
    if (failures_ != 0) {
      if (failures_ > 0) --failures_;
      // As in a real log, some records of a failed append may be stored.
      for (size_t i = 0; i < kept_ && i < records.size(); ++i)
        records_.push_back(std::move(records[i]));
      changed_.notify_all();
      return failure_;
    }
    for (const OutgoingRecord& record : records) {
      if (record.value.size() > largest_) return InvalidArgument("record too large");
    }
    for (OutgoingRecord& record : records) records_.push_back(std::move(record));
    changed_.notify_all();
    return OkStatus();
  }

  // Makes the next `count` appends fail (-1: all until Heal). Each of them stores its first `kept`
  // records.
  void Fail(int count, Status status = Unavailable("the fake is down"), size_t kept = 0) {
    std::lock_guard<std::mutex> lock(mutex_);
    failures_ = count;
    failure_ = std::move(status);
    kept_ = kept;
  }
  void Heal() { Fail(0); }
  // Makes appends wait until Uncork.
  void Cork() {
    std::lock_guard<std::mutex> lock(mutex_);
    corked_ = true;
  }
  void Uncork() {
    std::lock_guard<std::mutex> lock(mutex_);
    corked_ = false;
    changed_.notify_all();
  }
  // Makes appends that contain a record with this key fail, or wait until FreeKey if `corked`.
  void FailKey(std::string key, Status failure, bool corked = false) {
    std::lock_guard<std::mutex> lock(mutex_);
    key_ = std::move(key);
    key_failure_ = std::move(failure);
    key_corked_ = corked;
  }
  void FreeKey() {
    std::lock_guard<std::mutex> lock(mutex_);
    key_failure_ = OkStatus();
    key_corked_ = false;
    changed_.notify_all();
  }
  // Sets the maximum value size. Larger values are rejected with InvalidArgument.
  void SetLargest(size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    largest_ = bytes;
  }

  std::vector<OutgoingRecord> records() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return records_;
  }
  size_t calls() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return calls_;
  }
  // Blocks until this many records are stored or this many calls have started.
  void AwaitRecords(size_t count) const {
    std::unique_lock<std::mutex> lock(mutex_);
    while (records_.size() < count) changed_.wait(lock);
  }
  void AwaitCalls(size_t count) const {
    std::unique_lock<std::mutex> lock(mutex_);
    while (calls_ < count) changed_.wait(lock);
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<OutgoingRecord> records_;
  size_t calls_ = 0;
  int failures_ = 0;
  size_t kept_ = 0;
  size_t largest_ = SIZE_MAX;
  bool corked_ = false;
  std::string key_;
  Status key_failure_;
  bool key_corked_ = false;
  Status failure_ = Unavailable("the fake is down");
};

}  // namespace pitwall::fakes
