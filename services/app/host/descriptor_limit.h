// Limit of open files of the process.
#pragma once

#include "services/base/status.h"

namespace pitwall {

// Raises the soft limit of open files up to the hard limit. Returns ResourceExhausted if the hard
// limit is too low for any service to start.
Status RaiseDescriptorLimit();

}  // namespace pitwall
