// pitwall.actions as a reader: what was decided, by this executor or another.
#pragma once

#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/executor/decision_book.h"
#include "services/pipeline/io.h"

namespace pitwall::executor {

// Thread-safe. Everything is borrowed.
class DecisionLog {
 public:
  DecisionLog(Log* log, std::string topic, size_t max_records, DecisionBook* book)
      : log_(log), topic_(std::move(topic)), max_records_(max_records), book_(book) {}

  // Puts into the book what is committed now and was not read before; the first time at most the
  // last `max_records` of each partition. On error nobody may act: what was decided is not known.
  Status ReadAll();
  // The same, where decisions on these jobs would stand.
  Status ReadOf(const std::set<std::string>& jobs);
  // Ends what is being read; nothing is read after it.
  void Stop() { stop_ = true; }

 private:
  Status Prepare() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status Read(int32_t partition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Log* const log_;
  const std::string topic_;
  const size_t max_records_;
  DecisionBook* const book_;
  std::atomic<bool> stop_{false};
  Mutex mutex_;
  std::vector<int64_t> read_until_ ABSL_GUARDED_BY(mutex_);  // per partition
};

}  // namespace pitwall::executor
