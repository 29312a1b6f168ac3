// Globs over names: of jobs, of rules.
#pragma once

#include <string_view>

namespace pitwall {

// * is any text, ? one byte; everything else is itself. Never exponential.
bool GlobMatches(std::string_view glob, std::string_view text);

}  // namespace pitwall
