// Memory budget of the process: tracks the memory of each holder and selects holders that must
// pause reading.
//
// The budget never drops data: a paused holder reads its input later, so its output is late but
// correct. Only the per-job memory limit drops data, and its effect depends only on the log
// (docs/decisions/0023-limit-memory-per-job-and-process.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "services/base/mutex.h"

namespace pitwall {

// Largest component of a holder's memory usage.
struct LargestPart {
  std::string name;
  size_t bytes = 0;
  std::string detail;  // may be ""
};

// Thread-safe.
class MemoryBudget {
 public:
  class Account;
  struct Entry {
    std::string name;
    size_t bytes = 0;
    bool paused = false;
    LargestPart largest;
  };

  explicit MemoryBudget(size_t limit) : limit_(limit) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  // Opens an account for a holder. Names must be unique, and the budget must outlive the account.
  std::unique_ptr<Account> Open(std::string name);

  size_t limit() const { return limit_; }
  size_t total() const;
  // Returns the number of pauses so far.
  uint64_t pauses() const;
  std::vector<Entry> Entries() const;

 private:
  // Thresholds in percent of the limit. Above the first threshold, the largest holder pauses (at
  // the limit, all holders do). Below the second threshold, holders resume.
  static constexpr size_t kPauseAt = 90;
  static constexpr size_t kGoOnBelow = 85;

  bool MustPause(Entry* entry);
  const Entry* Largest() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t limit_;
  mutable Mutex mutex_;
  std::vector<std::unique_ptr<Entry>> entries_ ABSL_GUARDED_BY(mutex_);
  size_t total_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t pauses_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Memory account of one holder. The destructor removes it from the budget.
class MemoryBudget::Account {
 public:
  Account(MemoryBudget* budget, Entry* entry) : budget_(budget), entry_(entry) {}
  ~Account();
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;

  void Set(size_t bytes, LargestPart largest);
  // Returns true if the holder must pause reading. Holders call this before each read.
  bool MustPause() { return budget_->MustPause(entry_); }
  // Returns the reason for the pause, as text for operators.
  std::string WhyPaused() const;

 private:
  MemoryBudget* const budget_;
  Entry* const entry_;
};

}  // namespace pitwall
