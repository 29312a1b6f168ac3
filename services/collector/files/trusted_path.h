// File permission checks. A file is trusted only if no user other than root and this process's user
// can replace it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall::collector {

// Returns the parent directory: "/a/b" for "/a/b/c", and "." for "c".
std::string DirectoryOf(std::string_view path);

// Returns FailedPrecondition, with the directory and the reason, if a user other than root and this
// process's user may rename files in the directory. This is the case if the directory belongs to
// another user, or if other users can write to it and it has no sticky bit.
Status CheckSharedDirectory(const std::string& path);
// Applies the same check to all parent directories.
Status CheckParents(const std::string& path);
// Checks the directory and its parents. Other users must not be able to write to the directory,
// even if it has the sticky bit, because all of its files must come from root or this process's
// user.
Status CheckOwnDirectory(const std::string& path);

// Returns the content of a regular file that only root and this process's user can write. Returns
// FailedPrecondition if others can write it, and ResourceExhausted if it has more than `limit`
// bytes.
StatusOr<std::string> ReadTrustedFile(const std::string& path, size_t limit);

}  // namespace pitwall::collector
