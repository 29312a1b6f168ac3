// Tests for rejections before any connection is made, and for unresponsive servers.
// tests/e2e/notifier/receivers_test.py uses a real server.
#include "services/adapters/mail/curl_mail_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/text/strings.h"

namespace pitwall::mail {
namespace {

MailCall Call(std::string host = "127.0.0.1", int port = 1) {
  MailCall call;
  call.server.host = std::move(host);
  call.server.port = port;
  call.server.security = MailSecurity::kNone;
  call.from = "a@example.org";
  call.to = {"b@example.org"};
  call.message = "Subject: x\r\n\r\nx\r\n";
  return call;
}

TEST(CurlMailTransport, InvalidServersAreRejectedBeforeConnecting) {
  const auto transport = *MakeCurlMailTransport({});
  EXPECT_TRUE(transport->CheckServer({.host = "smtp.example.org"}).ok());
  EXPECT_TRUE(transport->CheckServer({.host = "::1", .security = MailSecurity::kNone}).ok());
  for (const char* host : {"", "a/b", "a@b", "a b", "a\r\nb", "a?b"})
    EXPECT_FALSE(transport->CheckServer({.host = host}).ok()) << host;
  EXPECT_FALSE(transport->CheckServer({.host = "a", .port = 0}).ok());
  EXPECT_FALSE(
      transport->CheckServer({.host = "smtp.example.org", .security = MailSecurity::kNone}).ok());
  const auto insecure = *MakeCurlMailTransport({.allow_insecure = true});
  EXPECT_TRUE(
      insecure->CheckServer({.host = "smtp.example.org", .security = MailSecurity::kNone}).ok());
  EXPECT_FALSE(MakeCurlMailTransport({.allowed_cidrs = {"10.0.0.0/33"}}).ok());
}

TEST(CurlMailTransport, AddressesCannotInjectCommands) {
  const auto transport = *MakeCurlMailTransport({});
  MailCall call = Call();
  call.to = {"b@example.org>\r\nRCPT TO:<c@example.org"};
  EXPECT_TRUE(absl::IsInvalidArgument(transport->Send(call).status()));
  call = Call();
  call.from = "a b@example.org";
  EXPECT_TRUE(absl::IsInvalidArgument(transport->Send(call).status()));
  call.from = "a@example.org";
  call.to.clear();
  EXPECT_TRUE(absl::IsInvalidArgument(transport->Send(call).status()));
}

TEST(CurlMailTransport, PolicyRejectsPrivateAddresses) {
  const auto transport = *MakeCurlMailTransport({.allow_insecure = true});
  const auto reply = transport->Send(Call("169.254.169.254", 25));
  EXPECT_TRUE(absl::IsFailedPrecondition(reply.status())) << reply.status();
}

TEST(CurlMailTransport, MissingServerIsUnavailable) {
  const auto transport = *MakeCurlMailTransport({});
  const auto reply = transport->Send(Call());
  EXPECT_TRUE(absl::IsUnavailable(reply.status())) << reply.status();
}

}  // namespace
}  // namespace pitwall::mail
