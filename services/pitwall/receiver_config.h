// The receivers that a configuration names, as the notifier takes them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/notifier/policies/delivery_options.h"
#include "services/pitwall/config.h"

namespace pitwall {

// Reads what is at a place ("file:PATH", "env:NAME").
using SecretReader = std::function<StatusOr<std::string>(const std::string& place)>;

// InvalidArgument names the receiver and what is wrong: addresses, templates, matchers, names that
// a route has and no receiver. An Alertmanager cluster is one receiver for each member.
StatusOr<std::vector<notifier::ReceiverOptions>> ReceiversOf(const Config& config,
                                                             const SecretReader& secret);
// The same without a look at the secrets.
Status CheckReceivers(const Config& config);

}  // namespace pitwall
