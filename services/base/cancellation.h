// Cancellation of work whose requester is gone or whose deadline has passed.
//
// The owner of a request creates a token and sets a CancelScope around the work. Loops that can run
// long, at any depth, call CheckCanceled and return its status. Work without a scope, such as
// ingest and the evaluation of rules, is never canceled.
#pragma once

#include <atomic>

#include "services/base/status.h"

namespace pitwall {

// Thread-safe.
class CancelToken {
 public:
  enum class Reason : int { kNone, kPeerGone, kTimeout };

  // The first reason counts.
  void Cancel(Reason reason) {
    Reason none = Reason::kNone;
    reason_.compare_exchange_strong(none, reason, std::memory_order_relaxed);
  }
  bool canceled() const { return reason_.load(std::memory_order_relaxed) != Reason::kNone; }
  // OK, Cancelled (the peer is gone), or DeadlineExceeded.
  Status status() const;

 private:
  std::atomic<Reason> reason_ = Reason::kNone;
};

// Sets `token` as the token of the calling thread, and restores the previous one at the end of the
// scope.
class CancelScope {
 public:
  explicit CancelScope(const CancelToken* token);
  ~CancelScope();
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

 private:
  const CancelToken* const former_;
};

// Status of the token of the calling thread; OK without one. Takes a few nanoseconds.
Status CheckCanceled();

}  // namespace pitwall
