// Policy of the network addresses that an outgoing call may reach.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"

namespace pitwall::http {

// IPv6, with IPv4 as ::ffff:a.b.c.d, in network order.
struct IpAddress {
  std::array<uint8_t, 16> bytes{};
  static std::optional<IpAddress> Parse(std::string_view text);
  static IpAddress FromV4(const uint8_t (&v4)[4]);
  std::string ToString() const;
  friend bool operator==(const IpAddress&, const IpAddress&) = default;
};

struct Cidr {
  IpAddress address;
  int bits = 0;                                        // of 128
  static StatusOr<Cidr> Parse(std::string_view text);  // "10.0.0.0/8", "fd00::/8", "192.0.2.7"
  bool Contains(const IpAddress& address) const;
};

// Immutable; thread-safe.
class AddressPolicy {
 public:
  explicit AddressPolicy(std::vector<Cidr> allowed) : allowed_(std::move(allowed)) {}

  // Empty when the address may be reached; else what kind of address it is. An IPv4 address inside
  // an IPv6 one (mapped, NAT64, 6to4) is judged as itself.
  std::string Refusal(const IpAddress& address, bool loopback_allowed) const;

 private:
  std::vector<Cidr> allowed_;
};

}  // namespace pitwall::http
