// Checks of file permissions. A file is trusted only if no user other than root and this process's
// user can replace it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall::collector {

// Returns "/a/b" for "/a/b/c", and "." for "c".
std::string DirectoryOf(std::string_view path);

// Returns FailedPrecondition, with the directory and the cause, if another user than root and this
// process's user may rename files in it. This is the case if the directory belongs to another user,
// or is writable for others without the sticky bit.
Status CheckSharedDirectory(const std::string& path);
// Checks all parent directories in the same way.
Status CheckParents(const std::string& path);
// Checks the directory and its parents. Even with the sticky bit, the directory must not be
// writable for others, because all of its files must come from root or this process's user.
Status CheckOwnDirectory(const std::string& path);

// Returns the content of a regular file that only root and this process's user can write. Returns
// FailedPrecondition if others can write it, and ResourceExhausted if it has more than `limit`
// bytes.
StatusOr<std::string> ReadTrustedFile(const std::string& path, size_t limit);

}  // namespace pitwall::collector
