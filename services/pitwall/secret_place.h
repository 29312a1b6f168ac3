// Secrets that a configuration names by the place where they are.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall {

// The token in a file, or in the environment ("env:NAME"), without blanks around it.
// InvalidArgument: it is empty.
StatusOr<std::string> ReadToken(const std::string& place);
// The texts, with those that name a place ("env:NAME", "file:PATH") replaced by what is there.
StatusOr<std::map<std::string, std::string>> ReadSecrets(std::map<std::string, std::string> texts);

// A URL as logs and errors may have it: without user, password and query.
std::string ShownUrl(std::string_view url);
// InvalidArgument: it holds a user or a password; it does not say which.
Status CheckUrlWithoutSecrets(std::string_view url);

}  // namespace pitwall
