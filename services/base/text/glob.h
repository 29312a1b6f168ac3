// Glob patterns for job and rule names.
#pragma once

#include <string_view>

namespace pitwall {

// Returns true if the pattern matches. * matches any text, ? matches one byte, and other characters
// match themselves. Never takes exponential time.
bool GlobMatches(std::string_view glob, std::string_view text);

}  // namespace pitwall
