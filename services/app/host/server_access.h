// Access control for the servers in this process: tokens, and warnings about missing encryption.
#pragma once

#include <string>
#include <string_view>

#include "services/app/config/config.h"
#include "services/base/status.h"
#include "services/base/system/access.h"

namespace pitwall {

// Reads the tokens for a server. If no location is configured, generates and prints the tokens,
// except on loopback. `what` is the server's name in messages. Returns InvalidArgument if both
// roles have the same token.
StatusOr<AccessTokens> MakeAccessTokens(const std::string& listen, const std::string& view_place,
                                        const std::string& act_place, std::string_view what);

// Logs a warning if the server would receive tokens over the network without encryption.
Status WarnWithoutTls(std::string_view what, const std::string& listen, const TlsConfig& tls);

}  // namespace pitwall
