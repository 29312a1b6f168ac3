// The flags of the services, and the configuration that they and the file make together.
#pragma once

#include <vector>

#include "services/base/status.h"
#include "services/pitwall/config.h"
#include "services/pitwall/flags.h"

namespace pitwall {

const std::vector<FlagSpec>& ServiceFlags();

// Reads the file that --config names, puts the flags on top, and checks the result. The same flags
// give another configuration when the file has changed.
StatusOr<Config> EffectiveConfig(const Flags& flags);

}  // namespace pitwall
