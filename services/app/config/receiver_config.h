// Conversion from configured receivers to notifier options.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "services/app/config/config.h"
#include "services/base/status.h"
#include "services/notifier/receivers/delivery_options.h"

namespace pitwall {

// Reads the secret at the given location ("file:PATH", "env:NAME").
using SecretReader = std::function<StatusOr<std::string>(const std::string& place)>;

// Returns the receivers. Each member of an Alertmanager cluster is a separate receiver. Errors name
// the receiver that has an invalid URL, template, or matcher, or the route that refers to an
// unknown receiver.
StatusOr<std::vector<notifier::ReceiverOptions>> ReceiversOf(const Config& config,
                                                             const SecretReader& secret);
// Validates the receivers without reading their secrets.
Status CheckReceivers(const Config& config);

}  // namespace pitwall
