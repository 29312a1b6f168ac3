// Requirements of RFC 9112 for a request's header that Beast's parser does not check: two parsers
// that read one header differently allow requests to be smuggled past a proxy.
#pragma once

#include <string_view>

namespace pitwall::http {

// `header`: the request line and the fields, up to and with the empty line. Empty when nothing is
// wrong, else the cause. What Beast refuses itself is not looked at.
std::string_view HeaderFault(std::string_view header);

}  // namespace pitwall::http
