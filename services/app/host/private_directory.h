// Directory for data that other users must not read.
#pragma once

#include <string>

#include "services/base/status.h"

namespace pitwall {

// Creates a directory that only its owner can access. For an existing directory, removes all
// permissions of the group and others except execute, which is needed to reach the collector's
// socket.
Status MakePrivateDirectory(const std::string& path);

}  // namespace pitwall
