// Glob patterns for names of jobs and rules.
#pragma once

#include <string_view>

namespace pitwall {

//  * matches any text, ? matches one byte, and other characters match themselves. Never
//    exponential.
bool GlobMatches(std::string_view glob, std::string_view text);

}  // namespace pitwall
