// HttpTransport over libcurl: the way out to webhooks.
//
// https only; http to loopback, or with allow_insecure. No redirects, no proxy from the
// environment, no cookies, no .netrc, no credentials in the URL. The address that a name resolved
// to is checked when the socket is made, so a name that changes its mind between check and use
// gains nothing. Addresses that are not public (loopback, private, link-local with the metadata
// services, CGNAT, ULA, multicast, reserved) are refused unless a CIDR of the options covers them;
// loopback is allowed for URLs whose host is written as loopback. Timeouts by libcurl's options.
// One easy handle per call in a pool: connections are kept alive per thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/io/http_transport.h"

namespace pitwall::http {

struct CurlTransportOptions {
  bool allow_insecure = false;             // http to any allowed address
  std::vector<std::string> allowed_cidrs;  // "10.0.0.0/8", "fd00::/8": allowed although not public
  std::string ca_file;                     // instead of the system's
  int64_t connect_timeout_ns = 5'000'000'000;
  std::string user_agent = "pitwall";
};

// InvalidArgument: a malformed CIDR. Thread-safe; the calls run in their callers' threads.
StatusOr<std::unique_ptr<HttpTransport>> MakeCurlTransport(CurlTransportOptions options);

}  // namespace pitwall::http
