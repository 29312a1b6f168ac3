// Interface for SMTP servers. services/adapters/mail implements it using libcurl; tests use a
// scripted implementation.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/base/time.h"

namespace pitwall {

enum class MailSecurity {
  kStartTls,  // starts unencrypted, then upgrades; fails if the server does not support it
  kTls,       // encrypted from the first byte
  kNone,      // never encrypted: only for loopback or allowed insecure servers
};

struct MailServer {
  std::string host;
  int port = 587;
  MailSecurity security = MailSecurity::kStartTls;
  std::string user;      // if "", no authentication
  std::string password;  // secret; never included in messages
  std::string auth;      // "PLAIN", "LOGIN"; if "", the strongest method that the server offers
  std::string ca_file;   // PEM; if "", the system default
};

struct MailCall {
  MailServer server;
  std::string from;             // addresses without display names
  std::vector<std::string> to;  // at least one
  std::string message;          // RFC 5322 with CRLF line ends; the transport applies dot stuffing
  Duration timeout = Duration::Seconds(30);
  const std::atomic<bool>* cancel = nullptr;  // see HttpCall
};

struct MailReply {
  int code = 0;  // code of the last command with a reply
  std::string text;
  // Recipients that the server rejected even though it accepted the message: "a@b.c (550 no such
  // user)".
  std::vector<std::string> refused;
};

// Thread-safe. A reply contains the server's result for the message. An error Status means that the
// server gave no result: InvalidArgument (address or server not allowed), FailedPrecondition
// (network address rejected by the policy), Unauthenticated (wrong user or password),
// DeadlineExceeded, Cancelled, or Unavailable (everything else, including TLS).
class MailTransport {
 public:
  virtual ~MailTransport() = default;
  virtual StatusOr<MailReply> Send(const MailCall& call) = 0;
  // Returns an error if Send would reject the server before connecting. Used for checks at startup.
  virtual Status CheckServer(const MailServer& server) const = 0;
};

}  // namespace pitwall
