// Settings of e-mail receivers.
#include "services/notifier/receivers/email.h"
#include "services/notifier/receivers/kinds/receiver_kind.h"

namespace pitwall::notifier {
namespace {

class EmailSettings final : public ReceiverSettings {
 public:
  void Keys(ConfigKeys& keys) override {
    CommonKeys(keys, {});
    keys.Text("host", &host, "SMTP server. Required.");
    keys.Count("port", {1, 65'535, ""}, &port,
               "Port of the server: 587 for STARTTLS, 465 for TLS.");
    keys.Choice(
        "security", {"starttls", "tls", "none"}, &security,
        "Encryption of the connection. `none` is allowed for loopback, or with `allow_insecure`.");
    keys.Text("user", &user, "User. Empty: no AUTH.");
    keys.Text("password", &password, "Location of the password: `file:PATH` or `env:NAME`.");
    keys.Text("auth", &auth,
              "`plain` or `login`. Empty: the best mechanism that the server offers.");
    keys.Text("ca_file", &ca_file, "Certificates to trust. Empty: `notifier.ca_file`.");
    keys.Text("from", &from, "Sender: `Name <name@example.org>` or an address. Required.");
    keys.Texts("to", &to, "Recipients, in the same format. Required.");
    if (host.empty()) keys.CheckKey("host", "e-mail requires an SMTP server");
    if (from.empty()) keys.CheckKey("from", "e-mail requires a sender");
    if (to.empty()) keys.CheckKey("to", "e-mail requires at least one address");
    keys.CheckValue("password", SecretPlaceProblem(password));
    if (!auth.empty() && auth != "plain" && auth != "login")
      keys.CheckValue("auth", "must be plain or login");
    if (user.empty() != password.empty())
      keys.CheckKey("user", "user and password require each other; specify both or neither");
  }
  StatusOr<std::vector<ReceiverOptions>> Make(const ReceiverContext& context) const override {
    EmailTarget target;
    target.server.host = host;
    target.server.port = static_cast<int>(port);
    target.server.security = security == "tls"    ? MailSecurity::kTls
                             : security == "none" ? MailSecurity::kNone
                                                  : MailSecurity::kStartTls;
    target.server.user = user;
    if (!password.empty()) {
      ASSIGN_OR_RETURN(target.server.password, context.secret(password));
    }
    target.server.auth = auth == "plain" ? "PLAIN" : auth == "login" ? "LOGIN" : "";
    target.server.ca_file = ca_file;
    auto sender = ParseMailAddress(from);
    if (!sender.ok()) return Annotate(sender.status(), "from");
    target.from = *std::move(sender);
    for (const std::string& text : to) {
      auto recipient = ParseMailAddress(text);
      if (!recipient.ok()) return Annotate(recipient.status(), "to");
      target.to.push_back(*std::move(recipient));
    }
    target.external_url = context.external_url;
    return std::vector{ReceiverOptions{
        .delivery = Delivery(), .receiver = std::make_shared<EmailReceiver>(std::move(target))}};
  }

  std::string host;
  int64_t port = 587;
  std::string security = "starttls";  // starttls, tls, none
  std::string user;
  std::string password;  // file:<path> or env:<NAME>
  std::string auth;      // plain, login; if "", the best mechanism that the server offers
  std::string ca_file;
  std::string from;
  std::vector<std::string> to;
};

}  // namespace

ReceiverKind EmailKind() {
  return {.key = "email",
          .item = "an e-mail receiver",
          .help = "E-mail recipients, over SMTP.",
          .settings = []() -> std::shared_ptr<ReceiverSettings> {
            return std::make_shared<EmailSettings>();
          }};
}

}  // namespace pitwall::notifier
