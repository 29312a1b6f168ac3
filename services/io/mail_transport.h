// The interface through which receivers reach SMTP servers. services/adapters/mail implements it
// over libcurl; tests script it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "services/base/status.h"

namespace pitwall {

enum class MailSecurity {
  kStartTls,  // plain first, then encrypted, or not at all
  kTls,       // encrypted from the first byte
  kNone,      // never encrypted: only to loopback, or where insecure servers are allowed
};

struct MailServer {
  std::string host;
  int port = 587;
  MailSecurity security = MailSecurity::kStartTls;
  std::string user;      // "": no AUTH
  std::string password;  // secret: never in a message
  std::string auth;      // "PLAIN", "LOGIN"; "": the best that the server offers
  std::string ca_file;   // PEM; "": the system's
};

struct MailCall {
  MailServer server;
  std::string from;             // addresses only
  std::vector<std::string> to;  // at least one
  std::string message;          // RFC 5322, lines end with CRLF; dots are stuffed by the transport
  int64_t timeout_ns = 30'000'000'000;
  const std::atomic<bool>* cancel = nullptr;  // see HttpCall
};

struct MailReply {
  int code = 0;  // of the last command that the server answered
  std::string text;
  // Addresses of a message that was taken which the server refuses: "a@b.c (550 no such user)".
  std::vector<std::string> refused;
};

// Thread-safe. A reply has the server's verdict on the message, whatever it is; a Status says why
// there was none: InvalidArgument (address or server not allowed), FailedPrecondition (network
// address refused by policy), Unauthenticated (the server does not take user or password),
// DeadlineExceeded, Cancelled, Unavailable (everything else, TLS too).
class MailTransport {
 public:
  virtual ~MailTransport() = default;
  virtual StatusOr<MailReply> Send(const MailCall& call) = 0;
  // Whether Send would refuse the server before any connection: for checks at start.
  virtual Status CheckServer(const MailServer& server) const = 0;
};

}  // namespace pitwall
