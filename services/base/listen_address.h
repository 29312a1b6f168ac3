// Address and port of a listener.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall {

struct ListenAddress {
  std::string host;  // IP address; "localhost" becomes 127.0.0.1, and "" becomes 0.0.0.0
  uint16_t port = 0;
  bool loopback = false;
};
// Parses "127.0.0.1:9870", "[::1]:9870", "localhost:0", or ":9870". Returns InvalidArgument for any
// other string. Host names are not resolved.
StatusOr<ListenAddress> ParseListenAddress(std::string_view text);

}  // namespace pitwall
