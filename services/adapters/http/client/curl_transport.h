// HttpTransport based on libcurl, used to deliver webhooks.
//
// URLs must use https; http is allowed only to loopback or with allow_insecure. Redirects, proxies
// from the environment, cookies, .netrc, and credentials in the URL are not used. The resolved
// address is checked when the socket is created, so a DNS change between check and use has no
// effect. Non-public addresses (loopback, private, link-local including metadata services, CGNAT,
// ULA, multicast, reserved) are rejected unless a CIDR in the options covers them. Loopback is
// allowed if the URL's host is a literal loopback name or address. Timeouts use libcurl's options.
// A pool holds one easy handle per concurrent call, and connections are kept alive per thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/io/http_transport.h"

namespace pitwall::http {

struct CurlTransportOptions {
  bool allow_insecure = false;             // http to any allowed address
  std::vector<std::string> allowed_cidrs;  // non-public ranges to allow, such as "10.0.0.0/8"
  std::string ca_file;                     // replaces the system's certificates
  int64_t connect_timeout_ns = 5'000'000'000;
  std::string user_agent = "pitwall";
};

// Returns a thread-safe transport. Calls run on the caller's thread. Returns InvalidArgument if a
// CIDR is malformed.
StatusOr<std::unique_ptr<HttpTransport>> MakeCurlTransport(CurlTransportOptions options);

}  // namespace pitwall::http
