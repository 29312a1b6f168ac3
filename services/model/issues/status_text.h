// Phrases in status reasons that programs parse, shared by writers and readers.
#pragma once

#include <string_view>

namespace pitwall {

// "1 element is pending since <position>, and fires at …"
inline constexpr std::string_view kElementPending = " element is pending since ";
// "3 elements are pending, the first since <position>, and fires at …"
inline constexpr std::string_view kElementsPending = " elements are pending, the first since ";

}  // namespace pitwall
