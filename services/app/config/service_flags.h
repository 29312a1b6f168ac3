// Options of the services, and the configuration that the options and the file make together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/app/command/flags.h"
#include "services/app/config/config.h"
#include "services/base/status.h"

namespace pitwall {

// Returns the options of all services. Every service accepts all of them, as it accepts every key
// of the configuration.
const std::vector<FlagSpec>& ServiceFlags();

// Returns the options that change the behavior of a service, and those that do not.
std::vector<FlagSpec> OptionsOfService(std::string_view service);
std::vector<FlagSpec> OptionsWithoutEffect(std::string_view service);

// Returns the services that an option concerns, for people: "standalone, processor" or "all".
std::string ServicesOfOption(std::string_view option);

// Reads the file that --config names, applies the options, and checks the result. The same options
// give another configuration after the file has changed.
StatusOr<Config> EffectiveConfig(const Flags& flags);

}  // namespace pitwall
