// Limit on the number of files that the process may open.
#pragma once

#include "services/base/status.h"

namespace pitwall {

// Raises the soft limit on open files to at most the hard limit. Returns ResourceExhausted if the
// hard limit is too low to start a service.
Status RaiseDescriptorLimit();

}  // namespace pitwall
