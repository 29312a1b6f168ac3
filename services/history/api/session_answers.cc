#include <array>
#include <utility>

#include "services/base/text/strings.h"
#include "services/codec/json/json_reader.h"
#include "services/history/api/answers.h"
#include "services/history/api/json_fields.h"

namespace pitwall::history {
namespace {

constexpr size_t kMaxBodyBytes = 4096;

std::string_view NameOf(Role role) {
  switch (role) {
    case Role::kAct:
      return "act";
    case Role::kView:
      return "view";
    case Role::kNone:
      break;
  }
  return "none";
}

http::HttpResponse SessionResponse(const ApiOptions& options, Role role, int64_t expires_wall_ns) {
  http::HttpResponse response = JsonAnswer([&](JsonWriter* out) {
    TextField("role", NameOf(role), out);
    BoolField("can_change", !options.tokens.act.empty(), out);
    TimeField("expires_ns", expires_wall_ns, out);
  });
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

std::string CookieLine(const ApiOptions& options, std::string_view value, int64_t seconds) {
  return Cat(http::kSessionCookie, "=", value,
             "; Path=/; HttpOnly; SameSite=Strict; Max-Age=", seconds,
             options.secure_cookies ? "; Secure" : "");
}

StatusOr<std::string> TokenOf(const http::HttpRequest& request) {
  const std::string_view header = request.Header("authorization");
  if (StartsWith(header, "Bearer ")) return std::string(header.substr(7));
  if (request.body.empty())
    return InvalidArgument("body: missing; send {\"token\": \"…\"}, or the Authorization header");
  // The body contains a secret, so errors must not quote it.
  const auto body = codec::JsonReader::Parse(request.body, kMaxBodyBytes);
  const Status malformed = InvalidArgument("body: must be a JSON object like {\"token\": \"…\"}");
  if (!body.ok()) return malformed;
  std::string token = body->String("token");
  if (!body->status().ok() || token.empty()) return malformed;
  return token;
}

}  // namespace

Answer OpenSession(const ApiCall& call) {
  const ApiOptions& options = call.options;
  if (options.sessions == nullptr)
    return FailedPrecondition(
        "session: sessions are disabled on this server; use the Authorization header");
  ASSIGN_OR_RETURN(const std::string token, TokenOf(call.request));
  const Role role = RoleOfToken(options.tokens, token);
  if (role == Role::kNone) {
    return Status(absl::StatusCode::kUnauthenticated,
                  "token: unknown; use a token that the server was started with");
  }
  ASSIGN_OR_RETURN(const http::CookieSessions::Opened opened, options.sessions->Open(role));
  // A browser has only one session, so sign-in closes the previous one.
  const std::string_view before = http::SessionCookieOf(call.request.Header("cookie"));
  if (!before.empty()) options.sessions->Close(before);
  http::HttpResponse response = SessionResponse(options, role, opened.session.expires_wall_ns);
  const int64_t seconds =
      (opened.session.expires_wall_ns - options.clock->WallNs()) / kNanosPerSecond;
  response.headers.emplace_back("Set-Cookie", CookieLine(options, opened.cookie, seconds));
  return response;
}

Answer AnswerSession(const ApiCall& call) {
  int64_t expires_ns = 0;
  if (call.options.sessions != nullptr) {
    const auto session =
        call.options.sessions->Find(http::SessionCookieOf(call.request.Header("cookie")));
    if (session) expires_ns = session->expires_wall_ns;
  }
  return SessionResponse(call.options, call.request.role, expires_ns);
}

Answer CloseSession(const ApiCall& call) {
  if (call.options.sessions != nullptr)
    call.options.sessions->Close(http::SessionCookieOf(call.request.Header("cookie")));
  http::HttpResponse response = SessionResponse(call.options, Role::kNone, 0);
  response.headers.emplace_back("Set-Cookie", CookieLine(call.options, "", 0));
  return response;
}

}  // namespace pitwall::history
