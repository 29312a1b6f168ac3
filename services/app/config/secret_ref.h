// Secrets that the configuration references by location.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall {

// Reads a token from a file or an environment variable ("env:NAME") and trims whitespace. Returns
// InvalidArgument if the token is empty.
StatusOr<std::string> ReadToken(const std::string& place);
// Replaces every value that is a location ("env:NAME", "file:PATH") with the secret at that
// location.
StatusOr<std::map<std::string, std::string>> ReadSecrets(std::map<std::string, std::string> texts);

// Returns the URL without its user, password, and query, for use in logs and errors.
std::string ShownUrl(std::string_view url);
// Returns InvalidArgument if the URL contains a user or a password. The error omits both.
Status CheckUrlWithoutSecrets(std::string_view url);

}  // namespace pitwall
