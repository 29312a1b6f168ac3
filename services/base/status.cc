#include "services/base/status.h"

#include <cerrno>
#include <cstring>

#include "services/base/text/strings.h"

namespace pitwall {

Status InvalidArgument(std::string_view message) {
  return absl::InvalidArgumentError(ToAbsl(message));
}
Status NotFound(std::string_view message) { return absl::NotFoundError(ToAbsl(message)); }
Status DataLoss(std::string_view message) { return absl::DataLossError(ToAbsl(message)); }
Status FailedPrecondition(std::string_view message) {
  return absl::FailedPreconditionError(ToAbsl(message));
}
Status ResourceExhausted(std::string_view message) {
  return absl::ResourceExhaustedError(ToAbsl(message));
}
Status OutOfRange(std::string_view message) { return absl::OutOfRangeError(ToAbsl(message)); }
Status Unavailable(std::string_view message) { return absl::UnavailableError(ToAbsl(message)); }
Status Internal(std::string_view message) { return absl::InternalError(ToAbsl(message)); }
Status Unimplemented(std::string_view message) { return absl::UnimplementedError(ToAbsl(message)); }
Status Aborted(std::string_view message) { return absl::AbortedError(ToAbsl(message)); }
Status DeadlineExceeded(std::string_view message) {
  return absl::DeadlineExceededError(ToAbsl(message));
}
Status Cancelled(std::string_view message) { return absl::CancelledError(ToAbsl(message)); }

Status Annotate(const Status& status, std::string_view context) {
  if (status.ok()) return status;
  return Status(status.code(), ToAbsl(Cat(context, ": ", ToStd(status.message()))));
}

Status ErrnoStatus(int error_number, std::string_view context) {
  const std::string message = Cat(context, ": ", std::strerror(error_number));
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
      return ResourceExhausted(message);
    case ENOENT:
      return NotFound(message);
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(message);
    default:
      return Internal(message);
  }
}

}  // namespace pitwall
