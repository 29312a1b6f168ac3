// Command-line options of the services, and the configuration that results from the options and the
// file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/app/command/flags.h"
#include "services/app/config/config.h"
#include "services/base/status.h"

namespace pitwall {

// Returns the options of all services. Every service accepts all of them, just as it accepts every
// configuration key.
const std::vector<FlagSpec>& ServiceFlags();

// Return the options that affect a service, and the options that do not.
std::vector<FlagSpec> OptionsOfService(std::string_view service);
std::vector<FlagSpec> OptionsWithoutEffect(std::string_view service);

// Returns the services that an option affects, for help texts: "standalone, processor" or "all".
std::string ServicesOfOption(std::string_view option);

// Reads the file given by --config, applies the options, and validates the result. The file is read
// again at each call.
StatusOr<Config> EffectiveConfig(const Flags& flags);

}  // namespace pitwall
