// The process's limit of open files.
#pragma once

#include "services/base/status.h"

namespace pitwall {

// Raises the soft limit of open files as far as the hard limit lets it. ResourceExhausted: the
// limit is too low for any service to start.
Status RaiseDescriptorLimit();

}  // namespace pitwall
