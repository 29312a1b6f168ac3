// Requirements of RFC 9112 for request headers that Beast's parser does not check. If two parsers
// interpret a header differently, requests can be smuggled past a proxy.
#pragma once

#include <string_view>

namespace pitwall::http {

// Returns "" if the header is valid, otherwise the cause. `header`: the request line and the
// fields, including the empty line. Faults that Beast itself rejects are not checked.
std::string_view HeaderFault(std::string_view header);

}  // namespace pitwall::http
