#include "services/app/cli/history/history_client.h"

#include <nlohmann/json.hpp>

#include "services/base/text/percent.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"

namespace pitwall::history_client {
namespace {

constexpr size_t kMaxAnswer = 512u << 20;
constexpr Duration kPatience = Duration::Minutes(2);

// Extracts the error message from a response in Pitwall's format, in Prometheus's format, or as one
// line of plain text.
std::string ErrorMessageOf(const HttpReply& reply) {
  const Json body = Json::parse(reply.body, nullptr, false);
  if (body.is_object() && body.contains("error")) {
    const Json& error = body["error"];
    if (error.is_string()) return error.get<std::string>();
    if (error.is_object() && error.contains("message") && error["message"].is_string())
      return error["message"].get<std::string>();
  }
  return std::string(Trim(reply.body.substr(0, 300)));
}

Status StatusOf(const HttpReply& reply, std::string_view url) {
  const std::string message = ErrorMessageOf(reply);
  switch (reply.status) {
    case 400:
      return InvalidArgument(message);
    case 401:
    case 403:
      return absl::PermissionDeniedError(
          Cat(url, ": ", message.empty() ? "access denied" : message,
              "; specify --token-file with a token that has the required role"));
    case 404:
      return absl::NotFoundError(reply.body.empty() || reply.body[0] != '{'
                                     ? Cat(url,
                                           ": server does not serve history; set --url to a "
                                           "Pitwall server with insights enabled")
                                     : message);
    case 409:
      return FailedPrecondition(message);
    case 410:
      return absl::OutOfRangeError(message);
    case 422:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::UnavailableError(Cat(url, ": HTTP ", reply.status, " (", message, ")"));
  }
}

}  // namespace

Client::Client(std::string url, std::string token, HttpTransport* transport)
    : url_(std::move(url)), token_(std::move(token)), transport_(transport) {
  while (!url_.empty() && url_.back() == '/') url_.pop_back();
}

StatusOr<std::string> Client::Exchange(std::string_view method, std::string_view path,
                                       const Parameters& parameters, std::string_view accept,
                                       std::string_view body) const {
  HttpCall call;
  call.method = std::string(method);
  call.url = Cat(url_, path);
  char separator = '?';
  for (const auto& [name, value] : parameters) {
    call.url.push_back(separator);
    CatTo(call.url, name, "=", PercentEncoded(value));
    separator = '&';
  }
  call.headers.emplace_back("accept", std::string(accept));
  if (!token_.empty()) call.headers.emplace_back("authorization", Cat("Bearer ", token_));
  if (!body.empty()) {
    call.headers.emplace_back("content-type", "application/json");
    call.body = std::string(body);
  }
  call.timeout = kPatience;
  call.max_response_bytes = kMaxAnswer;
  const auto reply = transport_->Perform(call);
  if (!reply.ok()) {
    if (absl::IsInvalidArgument(reply.status()) || absl::IsFailedPrecondition(reply.status()))
      return InvalidArgument(
          Cat("--url: ", ToStd(reply.status().message()), " (got ", Quote(url_), ")"));
    if (absl::IsResourceExhausted(reply.status()))
      return absl::ResourceExhaustedError(
          Cat(url_, ": response is longer than ", FormatBytes(kMaxAnswer), "; narrow the range"));
    return absl::UnavailableError(Cat(url_, ": no response (", ToStd(reply.status().message()),
                                      "); is Pitwall running there with insights enabled?"));
  }
  if (reply->status < 200 || reply->status > 299) return StatusOf(*reply, url_);
  return reply->body;
}

StatusOr<Json> Client::Call(std::string_view method, std::string_view path,
                            const Parameters& parameters) const {
  return Parsed(Exchange(method, path, parameters, "application/json"), path);
}

StatusOr<Json> Client::Post(std::string_view path, std::string_view body) const {
  return Parsed(Exchange("POST", path, {}, "application/json", body), path);
}

StatusOr<Json> Client::Parsed(StatusOr<std::string> text, std::string_view path) const {
  if (!text.ok()) return text.status();
  Json body = Json::parse(*text, nullptr, false);
  if (body.is_discarded())
    return absl::UnavailableError(
        Cat(url_, path,
            ": response is malformed JSON; is this a Pitwall server with insights enabled?"));
  return body;
}

}  // namespace pitwall::history_client
