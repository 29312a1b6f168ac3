// Policy for the network addresses that outgoing calls may connect to.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"

namespace pitwall::http {

// IPv6 address in network byte order. IPv4 addresses are stored as ::ffff:a.b.c.d.
struct IpAddress {
  std::array<uint8_t, 16> bytes{};
  static std::optional<IpAddress> Parse(std::string_view text);
  static IpAddress FromV4(const uint8_t (&v4)[4]);
  std::string ToString() const;
  friend bool operator==(const IpAddress&, const IpAddress&) = default;
};

struct Cidr {
  IpAddress address;
  int bits = 0;  // prefix length, 0 to 128
  static StatusOr<Cidr> Parse(
      std::string_view text);  // such as "10.0.0.0/8", "fd00::/8", or "192.0.2.7"
  bool Contains(const IpAddress& address) const;
};

// Immutable; thread-safe.
class AddressPolicy {
 public:
  explicit AddressPolicy(std::vector<Cidr> allowed) : allowed_(std::move(allowed)) {}

  // Returns "" if connecting to the address is allowed; otherwise, returns the kind of address that
  // is blocked. An IPv4 address embedded in an IPv6 address (mapped, NAT64, 6to4) is checked as an
  // IPv4 address.
  std::string Refusal(const IpAddress& address, bool loopback_allowed) const;

 private:
  std::vector<Cidr> allowed_;
};

}  // namespace pitwall::http
