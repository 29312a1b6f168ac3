#include "services/app/host/silence_routes.h"

#include <string>
#include <string_view>

#include "services/base/text/strings.h"
#include "services/codec/json/json_writer.h"

namespace pitwall {
namespace {

using notifier::Silence;
using notifier::SilenceTable;

constexpr std::string_view kPath = "/api/pitwall/v1/silences";

http::HttpResponse Fault(const Status& status) {
  codec::JsonWriter out;
  out.BeginObject();
  out.Text("error", ToStd(status.message()));
  out.EndObject();
  http::HttpResponse response = http::HttpResponse::Json(out.Take());
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      response.status = 400;
      break;
    case absl::StatusCode::kNotFound:
      response.status = 404;
      break;
    case absl::StatusCode::kFailedPrecondition:
      response.status = 409;
      break;
    case absl::StatusCode::kResourceExhausted:
      response.status = 429;
      break;
    default:
      response.status = 503;
  }
  return response;
}

http::HttpResponse List(const SilenceTable& book, const http::HttpRequest& request) {
  std::string body = "{\"silences\":[";
  std::string_view separator;
  for (const Silence& silence : book.List(request.Query("ended") == "true")) {
    CatTo(body, separator, EncodeSilence(silence));
    separator = ",";
  }
  body += "]}";
  return http::HttpResponse::Json(std::move(body));
}

http::HttpResponse Add(SilenceTable* book, const http::HttpRequest& request) {
  StatusOr<Silence> silence = notifier::DecodeSilence(request.body);
  if (silence.ok()) silence = book->Add(*std::move(silence));
  if (!silence.ok()) return Fault(silence.status());
  http::HttpResponse response = http::HttpResponse::Json(EncodeSilence(*silence));
  response.status = 201;
  return response;
}

http::HttpResponse Expire(SilenceTable* book, const http::HttpRequest& request) {
  const std::string_view id = std::string_view(request.path).substr(kPath.size() + 1);
  const StatusOr<Silence> silence = book->Expire(id);
  if (!silence.ok()) return Fault(silence.status());
  return http::HttpResponse::Json(EncodeSilence(*silence));
}

}  // namespace

std::vector<http::HttpRoute> SilenceRoutes(SilenceTable* book) {
  const std::string path(kPath);
  return {{.method = "GET",
           .path = path,
           .handler = [book](const http::HttpRequest& request) { return List(*book, request); }},
          {.method = "POST",
           .path = path,
           .handler = [book](const http::HttpRequest& request) { return Add(book, request); },
           .role = Role::kAct,
           .lane = http::Lane::kActions},
          {.method = "DELETE",
           .path = Cat(path, "/*"),
           .handler = [book](const http::HttpRequest& request) { return Expire(book, request); },
           .role = Role::kAct,
           .lane = http::Lane::kActions}};
}

}  // namespace pitwall
