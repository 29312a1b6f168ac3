#include "services/adapters/http/client/checked_socket.h"

#include <netinet/in.h>

#include <algorithm>
#include <optional>

#include "services/base/text/strings.h"

namespace pitwall::http {

bool IsLoopbackName(std::string_view host) {
  if (StartsWith(host, "[") && EndsWith(host, "]")) host = host.substr(1, host.size() - 2);
  if (host == "localhost") return true;
  const std::optional<IpAddress> address = IpAddress::Parse(host);
  static const Cidr v4 = *Cidr::Parse("127.0.0.0/8");
  static const Cidr v6 = *Cidr::Parse("::1");
  return address && (v4.Contains(*address) || v6.Contains(*address));
}

int OpenCheckedSocket(const AddressPolicy& policy, bool loopback_allowed, int family, int type,
                      int protocol, const sockaddr* address, std::string* refused) {
  std::optional<IpAddress> ip;
  if (family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    uint8_t bytes[4];
    std::copy_n(reinterpret_cast<const uint8_t*>(&v4->sin_addr), 4, bytes);
    ip = IpAddress::FromV4(bytes);
  } else if (family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
    ip.emplace();
    std::copy_n(reinterpret_cast<const uint8_t*>(&v6->sin6_addr), 16, ip->bytes.begin());
  }
  std::string refusal = ip ? policy.Refusal(*ip, loopback_allowed) : "not an IP address";
  if (!refusal.empty()) {
    *refused = std::move(refusal);
    return -1;
  }
  return socket(family, type | SOCK_CLOEXEC, protocol);
}

}  // namespace pitwall::http
