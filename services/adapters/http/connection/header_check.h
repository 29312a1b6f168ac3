// RFC 9112 requirements for request headers that Beast's parser does not check. If two parsers
// interpret a header differently, requests can be smuggled past a proxy.
#pragma once

#include <string_view>

namespace pitwall::http {

// Returns a description of the error in the header, or "" if the header is valid. `header` contains
// the request line and the fields, including the final empty line. Does not check for errors that
// Beast itself detects.
std::string_view HeaderFault(std::string_view header);

}  // namespace pitwall::http
