#include "services/adapters/mail/curl_mail_transport.h"

#include <curl/curl.h>

#include <algorithm>
#include <mutex>
#include <string_view>
#include <utility>

#include "services/adapters/http/client/checked_socket.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"

namespace pitwall::mail {
namespace {

constexpr size_t kMaxReplyText = 512;

// State shared with the callbacks for one message.
struct Exchange {
  const MailCall* call = nullptr;
  const http::AddressPolicy* policy = nullptr;
  bool loopback_allowed = false;
  size_t sent = 0;
  std::string refused;
  std::string last_line;  // last line of the server's latest reply
  std::string recipient;  // recipient that the next reply refers to; "" for other commands
  std::vector<std::string> refused_recipients;
};

curl_socket_t OpenSocket(void* user, curlsocktype, curl_sockaddr* to) {
  auto* const exchange = static_cast<Exchange*>(user);
  return http::OpenCheckedSocket(*exchange->policy, exchange->loopback_allowed, to->family,
                                 to->socktype, to->protocol, &to->addr, &exchange->refused);
}

size_t OnRead(char* buffer, size_t size, size_t count, void* user) {
  auto* const exchange = static_cast<Exchange*>(user);
  const std::string& message = exchange->call->message;
  const size_t bytes = std::min(size * count, message.size() - exchange->sent);
  std::copy_n(message.data() + exchange->sent, bytes, buffer);
  exchange->sent += bytes;
  return bytes;
}

// libcurl passes each line of the server's replies as a header.
size_t OnLine(char* data, size_t size, size_t count, void* user) {
  static_cast<Exchange*>(user)->last_line =
      std::string(Trim(std::string_view(data, size * count).substr(0, kMaxReplyText)));
  return size * count;
}

// libcurl does not report which of several recipients the server rejected, so the replies are
// parsed here. The rest of the session is ignored because it contains the password.
int OnDebug(CURL*, curl_infotype type, char* data, size_t size, void* user) {
  auto* const exchange = static_cast<Exchange*>(user);
  const std::string_view line = Trim(std::string_view(data, size).substr(0, kMaxReplyText));
  constexpr std::string_view kRecipient = "RCPT TO:<";
  if (type == CURLINFO_HEADER_OUT) {
    exchange->recipient =
        StartsWith(line, kRecipient)
            ? std::string(line.substr(kRecipient.size(), line.find('>') - kRecipient.size()))
            : "";
  } else if (type == CURLINFO_HEADER_IN && !exchange->recipient.empty()) {
    if (StartsWith(line, "4") || StartsWith(line, "5"))
      exchange->refused_recipients.push_back(Cat(exchange->recipient, " (", line, ")"));
    exchange->recipient.clear();
  }
  return 0;
}

int OnProgress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const auto* const exchange = static_cast<const Exchange*>(user);
  return exchange->call->cancel != nullptr && exchange->call->cancel->load() ? 1 : 0;
}

bool IsHost(std::string_view host) {
  return !host.empty() && host.size() <= 253 && std::all_of(host.begin(), host.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_' || c == ':';
  });
}

// Returns true for characters that could end an SMTP command.
bool Breaks(std::string_view address) {
  return address.empty() || std::any_of(address.begin(), address.end(), [](char c) {
           return static_cast<unsigned char>(c) <= 0x20 || c == 0x7F || c == '<' || c == '>';
         });
}

class CurlMailTransport final : public MailTransport {
 public:
  CurlMailTransport(CurlMailTransportOptions options, std::vector<http::Cidr> allowed)
      : options_(std::move(options)), policy_(std::move(allowed)) {}

  Status CheckServer(const MailServer& server) const override {
    if (!IsHost(server.host))
      return InvalidArgument(Cat("server ", Quote(server.host), ": must be a host name"));
    if (server.port < 1 || server.port > 65'535)
      return InvalidArgument(Cat("port must be 1 to 65535 (got ", server.port, ")"));
    if (server.security == MailSecurity::kNone && !options_.allow_insecure &&
        !http::IsLoopbackName(server.host)) {
      return InvalidArgument(
          "plain SMTP is allowed only to loopback; use starttls or tls, or set allow_insecure");
    }
    return OkStatus();
  }

  StatusOr<MailReply> Send(const MailCall& call) override {
    RETURN_IF_ERROR(CheckServer(call.server));
    if (Breaks(call.from) || call.to.empty() ||
        std::any_of(call.to.begin(), call.to.end(), [](const auto& to) { return Breaks(to); })) {
      return InvalidArgument(
          "mail address must not be empty or contain spaces, control characters, <, or >");
    }
    Exchange exchange;
    exchange.call = &call;
    exchange.policy = &policy_;
    exchange.loopback_allowed = http::IsLoopbackName(call.server.host);
    CURL* const handle = curl_easy_init();
    if (handle == nullptr) return ResourceExhausted("not enough memory for an email");
    curl_slist* to = nullptr;
    const Status set = SetUp(handle, call, &exchange, &to);
    StatusOr<MailReply> reply = set.ok() ? Run(handle, &exchange) : StatusOr<MailReply>(set);
    curl_slist_free_all(to);
    curl_easy_cleanup(handle);
    return reply;
  }

 private:
  Status SetUp(CURL* h, const MailCall& call, Exchange* exchange, curl_slist** to) const {
    bool ok = true;
    const auto set = [&](CURLoption option, auto value) {
      ok = curl_easy_setopt(h, option, value) == CURLE_OK && ok;
    };
    const MailServer& server = call.server;
    const bool v6 = server.host.find(':') != std::string::npos;
    set(CURLOPT_URL, Cat(server.security == MailSecurity::kTls ? "smtps://" : "smtp://",
                         v6 ? Cat("[", server.host, "]") : server.host, ":", server.port)
                         .c_str());
    for (const std::string& address : call.to) {
      curl_slist* const more = curl_slist_append(*to, Cat("<", address, ">").c_str());
      if (more == nullptr) return ResourceExhausted("not enough memory for addresses");
      *to = more;
    }
    set(CURLOPT_MAIL_FROM, Cat("<", call.from, ">").c_str());
    set(CURLOPT_MAIL_RCPT, *to);
    // A rejected address must not prevent delivery to the other addresses.
    set(CURLOPT_MAIL_RCPT_ALLLOWFAILS, 1L);
    if (!server.user.empty()) {
      set(CURLOPT_USERNAME, server.user.c_str());
      set(CURLOPT_PASSWORD, server.password.c_str());
      if (!server.auth.empty()) set(CURLOPT_LOGIN_OPTIONS, Cat("AUTH=", server.auth).c_str());
    }
    set(CURLOPT_USE_SSL,
        static_cast<long>(server.security == MailSecurity::kStartTls ? CURLUSESSL_ALL
                                                                     : CURLUSESSL_NONE));
    set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    set(CURLOPT_SSL_VERIFYPEER, 1L);
    set(CURLOPT_SSL_VERIFYHOST, 2L);
    const std::string& ca = server.ca_file.empty() ? options_.ca_file : server.ca_file;
    if (!ca.empty()) set(CURLOPT_CAINFO, ca.c_str());
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_PROXY, "");
    set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
#if LIBCURL_VERSION_NUM >= 0x075500
    set(CURLOPT_PROTOCOLS_STR, "smtp,smtps");
#else
    set(CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_SMTP | CURLPROTO_SMTPS));
#endif
    set(CURLOPT_TIMEOUT_MS,
        static_cast<long>(std::max<int64_t>(1, call.timeout / Duration::Millis(1))));
    set(CURLOPT_CONNECTTIMEOUT_MS,
        static_cast<long>(std::max<int64_t>(1, options_.connect_timeout_ns / 1'000'000)));
    set(CURLOPT_OPENSOCKETFUNCTION, &OpenSocket);
    set(CURLOPT_OPENSOCKETDATA, exchange);
    set(CURLOPT_UPLOAD, 1L);
    set(CURLOPT_READFUNCTION, &OnRead);
    set(CURLOPT_READDATA, exchange);
    set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(call.message.size()));
    set(CURLOPT_HEADERFUNCTION, &OnLine);
    set(CURLOPT_HEADERDATA, exchange);
    set(CURLOPT_VERBOSE, 1L);  // enables the debug callback, which does not print anything
    set(CURLOPT_DEBUGFUNCTION, &OnDebug);
    set(CURLOPT_DEBUGDATA, exchange);
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_XFERINFOFUNCTION, &OnProgress);
    set(CURLOPT_XFERINFODATA, exchange);
    if (!ok) return Internal("libcurl rejected an option; check that it is built with SMTP");
    return OkStatus();
  }

  static StatusOr<MailReply> Run(CURL* handle, Exchange* exchange) {
    char detail[CURL_ERROR_SIZE] = "";
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, detail);
    const CURLcode code = curl_easy_perform(handle);
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, nullptr);
    long answer = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &answer);
    MailReply reply{static_cast<int>(answer), exchange->last_line, {}};
    if (code == CURLE_OK) {
      reply.code = 250;
      reply.refused = std::move(exchange->refused_recipients);
      return reply;
    }
    const std::string why = detail[0] != '\0' ? detail : curl_easy_strerror(code);
    if (!exchange->refused.empty())
      return FailedPrecondition(Cat("not allowed: ", exchange->refused));
    if (code == CURLE_ABORTED_BY_CALLBACK) return Cancelled("the call was canceled");
    // A 4xx code is a temporary failure.
    if (code == CURLE_LOGIN_DENIED && (answer < 400 || answer >= 500)) {
      return absl::UnauthenticatedError(
          Cat("the server rejected the user or password (", answer, ")"));
    }
    if (code == CURLE_OPERATION_TIMEDOUT) return DeadlineExceeded(why);
    // The server rejected the sender, the recipients, or the message.
    if (answer >= 400) return reply;
    return Unavailable(why);
  }

  const CurlMailTransportOptions options_;
  const http::AddressPolicy policy_;
};

}  // namespace

StatusOr<std::unique_ptr<MailTransport>> MakeCurlMailTransport(CurlMailTransportOptions options) {
  static std::once_flag once;
  static CURLcode started = CURLE_OK;
  std::call_once(once, [] { started = curl_global_init(CURL_GLOBAL_DEFAULT); });
  if (started != CURLE_OK) return Internal(Cat("libcurl: ", curl_easy_strerror(started)));
  std::vector<http::Cidr> allowed;
  for (const std::string& text : options.allowed_cidrs) {
    ASSIGN_OR_RETURN(const http::Cidr cidr, http::Cidr::Parse(text));
    allowed.push_back(cidr);
  }
  return std::make_unique<CurlMailTransport>(std::move(options), std::move(allowed));
}

}  // namespace pitwall::mail
