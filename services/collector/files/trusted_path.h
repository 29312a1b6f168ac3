// Check of who may change the file at a path: only a file that no other user can replace is trusted
// as the administrator's.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall::collector {

// "/a/b/c" -> "/a/b", "c" -> ".".
std::string DirectoryOf(std::string_view path);

// FailedPrecondition, naming the directory and the cause, when somebody other than root and the
// user of this process may rename what is in it: it belongs to somebody else, or others may write
// it and no sticky bit keeps each to his own.
Status CheckSharedDirectory(const std::string& path);
// The same for all directories above it.
Status CheckParents(const std::string& path);
// Both, and a sticky bit does not do: whatever is in it was put there by root or us.
Status CheckOwnDirectory(const std::string& path);

// The content of a regular file that only root and the user of this process can write.
// FailedPrecondition: somebody else can. ResourceExhausted: more than `limit` bytes.
StatusOr<std::string> ReadTrustedFile(const std::string& path, size_t limit);

}  // namespace pitwall::collector
