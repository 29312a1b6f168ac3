// MailTransport over libcurl: SMTP with STARTTLS or TLS, AUTH PLAIN and LOGIN.
//
// Encrypted, with the certificate checked against the server's name; plain SMTP to loopback only,
// or with allow_insecure. The address that a name resolved to is checked as for webhooks
// (services/adapters/http/client/curl_transport.h). One connection for each message. libcurl stuffs
// dots.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/io/mail_transport.h"

namespace pitwall::mail {

struct CurlMailTransportOptions {
  bool allow_insecure = false;             // plain SMTP to any allowed address
  std::vector<std::string> allowed_cidrs;  // allowed although not public
  std::string ca_file;                     // instead of the system's, where a server has none
  int64_t connect_timeout_ns = 10'000'000'000;
};

// InvalidArgument: a malformed CIDR. Thread-safe; the calls run in their callers' threads.
StatusOr<std::unique_ptr<MailTransport>> MakeCurlMailTransport(CurlMailTransportOptions options);

}  // namespace pitwall::mail
