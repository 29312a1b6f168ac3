#include "services/base/listen_address.h"

#include <arpa/inet.h>

#include <array>

#include "services/base/text/strings.h"

namespace pitwall {

StatusOr<ListenAddress> ParseListenAddress(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return InvalidArgument(Cat("listen address ", Quote(text), ": ", why));
  };
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return bad("must be address:port");
  std::string_view host = text.substr(0, colon);
  if (StartsWith(host, "[") && EndsWith(host, "]")) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return bad("IPv6 addresses must be in brackets");
  }
  const std::optional<int64_t> port = ParseInt(text.substr(colon + 1));
  if (!port || *port < 0 || *port > 65535) return bad("port must be 0 to 65535");

  ListenAddress out;
  out.port = static_cast<uint16_t>(*port);
  out.host = host == "localhost" ? "127.0.0.1" : host.empty() ? "0.0.0.0" : std::string(host);
  std::array<unsigned char, 16> bytes{};
  if (inet_pton(AF_INET, out.host.c_str(), bytes.data()) == 1) {
    out.loopback = bytes[0] == 127;
  } else if (inet_pton(AF_INET6, out.host.c_str(), bytes.data()) == 1) {
    out.loopback = true;
    for (size_t i = 0; i < 16; ++i) out.loopback = out.loopback && bytes[i] == (i == 15 ? 1 : 0);
  } else {
    return bad("host must be an IP address or localhost");
  }
  return out;
}

}  // namespace pitwall
