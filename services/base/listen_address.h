// "address:port" of a listener.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall {

struct ListenAddress {
  std::string host;  // an IP address; "localhost" became 127.0.0.1, nothing became 0.0.0.0
  uint16_t port = 0;
  bool loopback = false;
};
// "127.0.0.1:9870", "[::1]:9870", "localhost:0", ":9870". InvalidArgument for anything else; names
// are not resolved.
StatusOr<ListenAddress> ParseListenAddress(std::string_view text);

}  // namespace pitwall
