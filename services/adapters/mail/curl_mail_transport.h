// MailTransport over libcurl: SMTP with STARTTLS or TLS, AUTH PLAIN and LOGIN.
//
// Encrypted, and the certificate must match the server's name; plain SMTP only to loopback, or with
// allow_insecure. Resolved addresses are checked as for webhooks
// (services/adapters/http/client/curl_transport.h). One connection per message. libcurl performs
// dot-stuffing.
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
  std::string ca_file;  // default if a server has none; replaces the system's certificates
  int64_t connect_timeout_ns = 10'000'000'000;
};

// InvalidArgument: a malformed CIDR. Thread-safe; calls run in the caller's thread.
StatusOr<std::unique_ptr<MailTransport>> MakeCurlMailTransport(CurlMailTransportOptions options);

}  // namespace pitwall::mail
