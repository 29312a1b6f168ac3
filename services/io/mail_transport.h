// Interface for SMTP servers. services/adapters/mail implements it over libcurl; tests use a
// script.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "services/base/status.h"

namespace pitwall {

enum class MailSecurity {
  kStartTls,  // plain first, then encrypted; fails without encryption
  kTls,       // encrypted from the first byte
  kNone,      // never encrypted: for loopback, or if insecure servers are allowed
};

struct MailServer {
  std::string host;
  int port = 587;
  MailSecurity security = MailSecurity::kStartTls;
  std::string user;      // "": no authentication
  std::string password;  // secret: never in messages
  std::string auth;      // "PLAIN", "LOGIN"; "": the strongest that the server offers
  std::string ca_file;   // PEM; "": system default
};

struct MailCall {
  MailServer server;
  std::string from;             // addresses only
  std::vector<std::string> to;  // at least one
  std::string message;          // RFC 5322, lines end with CRLF; the transport applies dot stuffing
  int64_t timeout_ns = 30'000'000'000;
  const std::atomic<bool>* cancel = nullptr;  // see HttpCall
};

struct MailReply {
  int code = 0;  // of the last command with a reply
  std::string text;
  // Recipients of an accepted message that the server rejects: "a@b.c (550 no such user)".
  std::vector<std::string> refused;
};

// Thread-safe. A reply has the server's result for the message; a Status is the reason for no
// result: InvalidArgument (address or server not allowed), FailedPrecondition (network address
// refused by policy), Unauthenticated (wrong user or password), DeadlineExceeded, Cancelled,
// Unavailable (everything else, including TLS).
class MailTransport {
 public:
  virtual ~MailTransport() = default;
  virtual StatusOr<MailReply> Send(const MailCall& call) = 0;
  // Returns an error if Send would reject the server before any connection; for checks at startup.
  virtual Status CheckServer(const MailServer& server) const = 0;
};

}  // namespace pitwall
