// Status types for return values: absl::Status under project names, and two macros that abseil does
// not export.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace pitwall {

using absl::Status;
using absl::StatusOr;
inline Status OkStatus() { return absl::OkStatus(); }

// Error constructors that take std::string_view. Debian's abseil has its own string_view, to which
// std::string_view does not convert. Messages contain location and cause: "FILE:LINE: the error,
// with the value".
Status InvalidArgument(std::string_view message);
Status NotFound(std::string_view message);
Status DataLoss(std::string_view message);
Status FailedPrecondition(std::string_view message);
Status ResourceExhausted(std::string_view message);
Status OutOfRange(std::string_view message);
Status Unavailable(std::string_view message);
Status Internal(std::string_view message);
Status Unimplemented(std::string_view message);
Status Aborted(std::string_view message);
Status DeadlineExceeded(std::string_view message);
Status Cancelled(std::string_view message);

// Returns `status` with "context: " prepended to its message. The code is unchanged, and an OK
// status stays OK.
Status Annotate(const Status& status, std::string_view context);

// Converts errno: ENOSPC to ResourceExhausted, ENOENT to NotFound, and others to Internal. Message:
// "context: strerror".
Status ErrnoStatus(int error_number, std::string_view context);

}  // namespace pitwall

#define PITWALL_CONCAT_INNER(a, b) a##b
#define PITWALL_CONCAT(a, b) PITWALL_CONCAT_INNER(a, b)

#define RETURN_IF_ERROR(expression)                                                             \
  do {                                                                                          \
    if (::absl::Status status_macro_ = (expression); !status_macro_.ok()) return status_macro_; \
  } while (false)

// ASSIGN_OR_RETURN(auto x, Compute()): assigns the value to x or returns the error from the calling
// function.
#define ASSIGN_OR_RETURN(lhs, expression) \
  ASSIGN_OR_RETURN_IMPL(PITWALL_CONCAT(status_or_, __LINE__), lhs, expression)
#define ASSIGN_OR_RETURN_IMPL(holder, lhs, expression) \
  auto holder = (expression);                          \
  if (!holder.ok()) return std::move(holder).status(); \
  lhs = *std::move(holder)
