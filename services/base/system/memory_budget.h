// One budget of memory for the process: who holds how much of it, and who has to stop reading.
//
// It never sheds anything: a holder that must pause reads its input later, so that what it says is
// late and not false. What bounds shed is decided by each job's own limit, as a function of the log
// (docs/decisions/0023-limit-memory-per-job-and-process.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "services/base/mutex.h"

namespace pitwall {

// What of a holder takes most.
struct LargestPart {
  std::string name;
  size_t bytes = 0;
  std::string detail;  // "": nothing to say
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

  // The budget must outlive it. Names are unique.
  std::unique_ptr<Account> Open(std::string name);

  size_t limit() const { return limit_; }
  size_t total() const;
  // How often holders were told to pause.
  uint64_t pauses() const;
  std::vector<Entry> Entries() const;

 private:
  // Of the limit, in hundredths: from there on the largest holder pauses (all pause at the limit);
  // below the other they go on.
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

// What one holder holds. Gives it back when it goes.
class MemoryBudget::Account {
 public:
  Account(MemoryBudget* budget, Entry* entry) : budget_(budget), entry_(entry) {}
  ~Account();
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;

  void Set(size_t bytes, LargestPart largest);
  // Whether the holder must read nothing more for now: ask before each read.
  bool MustPause() { return budget_->MustPause(entry_); }
  // What an operator reads while it pauses.
  std::string WhyPaused() const;

 private:
  MemoryBudget* const budget_;
  Entry* const entry_;
};

}  // namespace pitwall
