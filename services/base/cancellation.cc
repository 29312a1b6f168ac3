#include "services/base/cancellation.h"

namespace pitwall {
namespace {

thread_local const CancelToken* current_token = nullptr;

}  // namespace

Status CancelToken::status() const {
  switch (reason_.load(std::memory_order_relaxed)) {
    case Reason::kNone:
      return OkStatus();
    case Reason::kPeerGone:
      return Cancelled("request: the client closed the connection");
    case Reason::kTimeout:
      return DeadlineExceeded(
          "request: did not complete within the time limit; use a shorter range or fewer series");
  }
  return OkStatus();
}

CancelScope::CancelScope(const CancelToken* token) : former_(current_token) {
  current_token = token;
}

CancelScope::~CancelScope() { current_token = former_; }

Status CheckCanceled() {
  return current_token == nullptr || !current_token->canceled() ? OkStatus()
                                                                : current_token->status();
}

}  // namespace pitwall
