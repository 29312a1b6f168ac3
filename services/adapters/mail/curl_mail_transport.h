// MailTransport based on libcurl: SMTP with STARTTLS or TLS, and AUTH PLAIN and LOGIN.
//
// Connections are encrypted, and the certificate must match the server's name. Plain SMTP is
// allowed only to loopback or with allow_insecure. Resolved addresses are checked in the same way
// as for webhooks (services/adapters/http/client/curl_transport.h). Each message uses its own
// connection. libcurl performs dot-stuffing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/io/mail_transport.h"

namespace pitwall::mail {

struct CurlMailTransportOptions {
  bool allow_insecure = false;             // plain SMTP to any allowed address
  std::vector<std::string> allowed_cidrs;  // non-public ranges to allow
  std::string ca_file;  // used if the server has no CA file; replaces the system certificates
  int64_t connect_timeout_ns = 10'000'000'000;
};

// Returns a thread-safe transport. Calls run on the caller's thread. Returns InvalidArgument if a
// CIDR is malformed.
StatusOr<std::unique_ptr<MailTransport>> MakeCurlMailTransport(CurlMailTransportOptions options);

}  // namespace pitwall::mail
