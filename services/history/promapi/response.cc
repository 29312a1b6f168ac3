#include "services/history/promapi/response.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "absl/time/time.h"
#include "services/base/text/strings.h"
#include "services/codec/json/json_writer.h"

namespace pitwall::promapi {
namespace {

// As in Prometheus, a response contains at most this many annotations of each kind, followed by the
// number of omitted ones.
constexpr size_t kMaxAnnotations = 10;

struct ErrorName {
  std::string_view name;
  int code;
};
ErrorName NameOf(ErrorType type) {
  switch (type) {
    case ErrorType::kBadData:
      return {"bad_data", 400};
    case ErrorType::kExecution:
      return {"execution", 422};
    case ErrorType::kTimeout:
      return {"timeout", 503};
    case ErrorType::kCanceled:
      return {"canceled", 499};
    case ErrorType::kNotFound:
      return {"not_found", 404};
    case ErrorType::kInternal:
      break;
  }
  return {"internal", 500};
}

// `first` precedes the texts and does not count toward their limit.
void AppendAnnotations(std::string_view key, const std::vector<std::string>& first,
                       std::vector<std::string> texts, std::string* out) {
  if (first.empty() && texts.empty()) return;
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  if (texts.size() > kMaxAnnotations) {
    const size_t more = texts.size() - kMaxAnnotations;
    texts.resize(kMaxAnnotations);
    texts.push_back(Cat(more, " more ", key, " omitted"));
  }
  texts.insert(texts.begin(), first.begin(), first.end());
  CatTo(*out, ",\"", key, "\":");
  AppendTexts(texts, out);
}

http::HttpResponse Json(int status, std::string body) {
  http::HttpResponse response;
  response.status = status;
  response.content_type = "application/json";
  response.body = std::move(body);
  return response;
}

// Returns the shortest sequence of digits that parses to the same finite number.
std::string Scientific(double value) {
  char buffer[40];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  return std::string(buffer, end.ptr);
}

}  // namespace

void AppendText(std::string_view text, std::string* out) {
  codec::JsonWriter writer;
  writer.String(text);
  *out += writer.Take();
}

void AppendLabels(const Labels& labels, std::string* out) {
  *out += '{';
  bool first = true;
  for (const Label& label : labels) {
    if (!first) *out += ',';
    first = false;
    AppendText(label.name, out);
    *out += ':';
    AppendText(label.value, out);
  }
  *out += '}';
}

void AppendTexts(const std::vector<std::string>& texts, std::string* out) {
  *out += '[';
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) *out += ',';
    AppendText(texts[i], out);
  }
  *out += ']';
}

std::string FormatValue(double value) {
  if (!std::isfinite(value) || value == 0) {
    return value == 0 && std::signbit(value) ? "-0" : FormatDouble(value);
  }
  const std::string text = Scientific(value);
  const double magnitude = std::fabs(value);
  if (magnitude < 1e-6 || magnitude >= 1e21) return text;
  // Inserts the decimal point at its position and pads with zeros.
  const size_t e = text.find('e');
  std::string digits;
  for (const char c : text.substr(0, e)) {
    if (c >= '0' && c <= '9') digits += c;
  }
  const std::string_view exponent = std::string_view(text).substr(e + 1);
  const int64_t point =
      1 + ParseInt(exponent[0] == '+' ? exponent.substr(1) : exponent).value_or(0);
  const auto count = static_cast<int64_t>(digits.size());
  std::string out = value < 0 ? "-" : "";
  if (point <= 0) return out + "0." + std::string(static_cast<size_t>(-point), '0') + digits;
  if (point >= count) return out + digits + std::string(static_cast<size_t>(point - count), '0');
  return out + digits.substr(0, static_cast<size_t>(point)) + "." +
         digits.substr(static_cast<size_t>(point));
}

std::string FormatScientific(double value) {
  return std::isfinite(value) ? Scientific(value) : FormatDouble(value);
}

void AppendPoint(int64_t time_ns, double value, std::string* out) {
  int64_t millis = time_ns / 1'000'000;
  *out += '[';
  if (millis < 0) {
    *out += '-';
    millis = -millis;
  }
  CatTo(*out, millis / 1000);
  if (const int64_t fraction = millis % 1000; fraction != 0) {
    *out += '.';
    if (fraction < 100) *out += '0';
    if (fraction < 10) *out += '0';
    CatTo(*out, fraction);
  }
  CatTo(*out, ",\"", FormatValue(value), "\"]");
}

std::string FormatInstant(int64_t time_ns) {
  return absl::FormatTime("%Y-%m-%d%ET%H:%M:%E*SZ", absl::FromUnixNanos(time_ns),
                          absl::UTCTimeZone());
}

http::HttpResponse ErrorAnswer(ErrorType type, std::string_view message) {
  const ErrorName name = NameOf(type);
  std::string body = Cat("{\"status\":\"error\",\"errorType\":\"", name.name, "\",\"error\":");
  AppendText(message, &body);
  body += '}';
  return Json(name.code, std::move(body));
}

http::HttpResponse InvalidParameter(std::string_view name, std::string_view message) {
  return ErrorAnswer(ErrorType::kBadData, Cat("invalid parameter \"", name, "\": ", message));
}

http::HttpResponse FailedRun(const Status& status) {
  const std::string_view message = ToStd(status.message());
  switch (status.code()) {
    case absl::StatusCode::kDeadlineExceeded:
      return ErrorAnswer(ErrorType::kTimeout, message);
    case absl::StatusCode::kCancelled:
      return ErrorAnswer(ErrorType::kCanceled, message);
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kFailedPrecondition:
      return ErrorAnswer(ErrorType::kExecution, message);
    default:
      return ErrorAnswer(ErrorType::kInternal, message);
  }
}

http::HttpResponse DataAnswer(std::string_view data, const Annotations& annotations) {
  std::string body = Cat("{\"status\":\"success\",\"data\":", data);
  AppendAnnotations("warnings", annotations.missing, annotations.warnings, &body);
  AppendAnnotations("infos", {}, annotations.infos, &body);
  body += '}';
  http::HttpResponse response = Json(200, std::move(body));
  if (!annotations.missing.empty()) response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

}  // namespace pitwall::promapi
