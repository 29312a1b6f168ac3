// Secrets that a configuration names by their location.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall {

// Reads the token in a file or in the environment ("env:NAME"), without surrounding spaces.
// Returns InvalidArgument if it is empty.
StatusOr<std::string> ReadToken(const std::string& place);
// Returns the texts, in which each location ("env:NAME", "file:PATH") is replaced by its secret.
StatusOr<std::map<std::string, std::string>> ReadSecrets(std::map<std::string, std::string> texts);

// Returns a URL without user, password, and query, for logs and errors.
std::string ShownUrl(std::string_view url);
// Returns InvalidArgument if the URL has a user or a password. The error does not print them.
Status CheckUrlWithoutSecrets(std::string_view url);

}  // namespace pitwall
