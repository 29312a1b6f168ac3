// Cancellation of work whose requester has disconnected or whose deadline has passed.
//
// The owner of a request creates a token and sets a CancelScope around the work. Long loops at any
// depth call CheckCanceled and return its status. Work without a scope, such as ingest and rule
// evaluation, is never canceled.
#pragma once

#include <atomic>

#include "services/base/status.h"

namespace pitwall {

// Thread-safe.
class CancelToken {
 public:
  enum class Reason : int { kNone, kPeerGone, kTimeout };

  // Cancels the token. Only the first reason is kept.
  void Cancel(Reason reason) {
    Reason none = Reason::kNone;
    reason_.compare_exchange_strong(none, reason, std::memory_order_relaxed);
  }
  bool canceled() const { return reason_.load(std::memory_order_relaxed) != Reason::kNone; }
  // Returns OK, Cancelled (the peer has disconnected), or DeadlineExceeded.
  Status status() const;

 private:
  std::atomic<Reason> reason_ = Reason::kNone;
};

// Sets the token of the calling thread and restores the previous one at the end of the scope.
class CancelScope {
 public:
  explicit CancelScope(const CancelToken* token);
  ~CancelScope();
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

 private:
  const CancelToken* const former_;
};

// Returns the status of the calling thread's token, or OK if there is no token. Takes a few
// nanoseconds.
Status CheckCanceled();

}  // namespace pitwall
