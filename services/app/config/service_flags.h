// Command-line options of the services, and the configuration that combines the options with the
// file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/app/command/flags.h"
#include "services/app/config/config.h"
#include "services/base/status.h"

namespace pitwall {

// Returns the options of all services. Every service accepts all options, just as it accepts all
// configuration keys.
const std::vector<FlagSpec>& ServiceFlags();

// Return the options that affect a service, and the options that do not.
std::vector<FlagSpec> OptionsOfService(std::string_view service);
std::vector<FlagSpec> OptionsWithoutEffect(std::string_view service);

// Returns the services that an option affects, for the help text. Examples: "standalone,
// processor", "all".
std::string ServicesOfOption(std::string_view option);

// Reads the file specified by --config, applies the options, and validates the result. Each call
// rereads the file.
StatusOr<Config> EffectiveConfig(const Flags& flags);

}  // namespace pitwall
