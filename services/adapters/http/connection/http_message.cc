#include "services/adapters/http/connection/http_message.h"

#include "services/base/terminal.h"

namespace pitwall::http {

std::string_view HttpRequest::Query(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return value;
  }
  return {};
}

std::string_view HttpRequest::Header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

HttpResponse HttpResponse::Text(int status, std::string_view body) {
  HttpResponse response;
  response.status = status;
  response.body = TerminalText(body);
  return response;
}

HttpResponse HttpResponse::Json(std::string body) {
  HttpResponse response;
  response.content_type = "application/json";
  response.body = std::move(body);
  return response;
}

}  // namespace pitwall::http
