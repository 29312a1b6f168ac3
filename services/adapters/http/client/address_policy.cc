#include "services/adapters/http/client/address_policy.h"

#include <arpa/inet.h>

#include <algorithm>

#include "services/base/check.h"
#include "services/base/text/strings.h"

namespace pitwall::http {
namespace {

struct Special {
  std::string_view cidr;
  std::string_view kind;
};

// Address ranges that are not globally reachable according to IANA's special-purpose registries
// (RFC 6890 and successors).
constexpr Special kSpecial[] = {
    {"0.0.0.0/8", "unspecified"},
    {"10.0.0.0/8", "private"},
    {"100.64.0.0/10", "carrier NAT"},
    {"127.0.0.0/8", "loopback"},
    {"169.254.0.0/16", "link-local"},
    {"172.16.0.0/12", "private"},
    {"192.0.0.0/24", "reserved"},
    {"192.0.2.0/24", "documentation"},
    {"192.88.99.0/24", "reserved"},
    {"192.168.0.0/16", "private"},
    {"198.18.0.0/15", "benchmarking"},
    {"198.51.100.0/24", "documentation"},
    {"203.0.113.0/24", "documentation"},
    {"224.0.0.0/4", "multicast"},
    {"240.0.0.0/4", "reserved"},
    {"::/128", "unspecified"},
    {"::1/128", "loopback"},
    {"100::/64", "discard"},
    {"2001:db8::/32", "documentation"},
    {"3fff::/20", "documentation"},
    {"5f00::/16", "reserved"},
    {"fc00::/7", "private"},
    {"fe80::/10", "link-local"},
    {"fec0::/10", "private"},
    {"ff00::/8", "multicast"},
    {"2001::/32", "Teredo"},
    {"::ffff:0:0:0/96", "translated"},
    {"64:ff9b:1::/48", "translated"},
};

const std::vector<std::pair<Cidr, std::string_view>>& SpecialRanges() {
  static const auto* const ranges = [] {
    auto* out = new std::vector<std::pair<Cidr, std::string_view>>;
    for (const Special& s : kSpecial) {
      StatusOr<Cidr> cidr = Cidr::Parse(s.cidr);
      PITWALL_CHECK(cidr.ok());
      out->emplace_back(*cidr, s.kind);
    }
    return out;
  }();
  return *ranges;
}

// Returns the IPv4 address embedded in an IPv6 address, in mapped form. If none is embedded,
// returns the address unchanged.
IpAddress Unwrapped(const IpAddress& a) {
  const auto v4_at = [&](size_t i) {
    const uint8_t v4[4] = {a.bytes[i], a.bytes[i + 1], a.bytes[i + 2], a.bytes[i + 3]};
    return IpAddress::FromV4(v4);
  };
  static const Cidr nat64 = *Cidr::Parse("64:ff9b::/96");
  static const Cidr six_to_four = *Cidr::Parse("2002::/16");
  static const Cidr compatible = *Cidr::Parse("::/96");
  if (nat64.Contains(a)) return v4_at(12);
  if (six_to_four.Contains(a)) return v4_at(2);
  const bool small = a.bytes[12] == 0 && a.bytes[13] == 0 && a.bytes[14] == 0;  // :: and ::1
  if (compatible.Contains(a) && !small) return v4_at(12);
  return a;
}

}  // namespace

IpAddress IpAddress::FromV4(const uint8_t (&v4)[4]) {
  IpAddress out;
  out.bytes[10] = out.bytes[11] = 0xff;
  std::copy(std::begin(v4), std::end(v4), out.bytes.begin() + 12);
  return out;
}

std::optional<IpAddress> IpAddress::Parse(std::string_view text) {
  const std::string copy(text);
  uint8_t v4[4];
  if (inet_pton(AF_INET, copy.c_str(), v4) == 1) return FromV4(v4);
  IpAddress out;
  if (inet_pton(AF_INET6, copy.c_str(), out.bytes.data()) == 1) return out;
  return std::nullopt;
}

std::string IpAddress::ToString() const {
  char text[INET6_ADDRSTRLEN] = "";
  static const Cidr mapped = *Cidr::Parse("::ffff:0:0/96");
  if (mapped.Contains(*this)) {
    inet_ntop(AF_INET, bytes.data() + 12, text, sizeof text);
  } else {
    inet_ntop(AF_INET6, bytes.data(), text, sizeof text);
  }
  return text;
}

StatusOr<Cidr> Cidr::Parse(std::string_view text) {
  const size_t slash = text.find('/');
  const std::string_view host = text.substr(0, slash);
  const std::optional<IpAddress> address = IpAddress::Parse(host);
  if (!address) return InvalidArgument(Cat(Quote(text), " is not a network address"));
  const bool v4 = host.find(':') == std::string_view::npos;
  int64_t bits = v4 ? 32 : 128;
  if (slash != std::string_view::npos) {
    const std::optional<int64_t> given = ParseInt(text.substr(slash + 1));
    if (!given || *given < 0 || *given > bits) {
      return InvalidArgument(Cat(Quote(text), ": prefix length must be 0 to ", bits));
    }
    bits = *given;
  }
  return Cidr{*address, static_cast<int>(bits) + (v4 ? 96 : 0)};
}

bool Cidr::Contains(const IpAddress& other) const {
  const size_t whole = static_cast<size_t>(bits) / 8;
  if (!std::equal(address.bytes.begin(), address.bytes.begin() + static_cast<ptrdiff_t>(whole),
                  other.bytes.begin())) {
    return false;
  }
  const int rest = bits % 8;
  if (rest == 0) return true;
  const int mask = 0xff << (8 - rest) & 0xff;
  return (address.bytes[whole] & mask) == (other.bytes[whole] & mask);
}

std::string AddressPolicy::Refusal(const IpAddress& address, bool loopback_allowed) const {
  const IpAddress inner = Unwrapped(address);
  for (const auto& [range, kind] : SpecialRanges()) {
    if (!range.Contains(inner)) continue;
    if (kind == "loopback" && loopback_allowed) return "";
    for (const Cidr& cidr : allowed_) {
      if (cidr.Contains(inner) || cidr.Contains(address)) return "";
    }
    return Cat(address.ToString(), " is a ", kind, " address");
  }
  return "";
}

}  // namespace pitwall::http
