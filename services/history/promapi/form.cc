#include "services/history/promapi/form.h"

#include <cmath>

#include "absl/time/time.h"
#include "services/adapters/http/router.h"
#include "services/base/duration.h"
#include "services/base/text/strings.h"
#include "services/model/position.h"

namespace pitwall::promapi {
namespace {

constexpr size_t kMaxParameters = 1'000;
constexpr int64_t kMillis = 1'000'000;
constexpr std::string_view kFormType = "application/x-www-form-urlencoded";

}  // namespace

StatusOr<Form> Form::Of(const http::HttpRequest& request) {
  Form form;
  if (request.method == "POST" && StartsWith(request.Header("content-type"), kFormType)) {
    for (const std::string_view pair : Split(request.body, '&')) {
      if (pair.empty()) continue;
      if (form.values_.size() == kMaxParameters) {
        return InvalidArgument(
            Cat("error parsing form values: more than ", kMaxParameters, " parameters"));
      }
      const size_t equals = pair.find('=');
      auto name = http::PercentDecode(pair.substr(0, equals), true);
      auto value = http::PercentDecode(
          equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1), true);
      if (!name || !value)
        return InvalidArgument(
            Cat("error parsing form values: invalid URL escape in ", Quote(pair)));
      form.values_.emplace_back(*std::move(name), *std::move(value));
    }
  }
  form.values_.insert(form.values_.end(), request.query.begin(), request.query.end());
  return form;
}

std::string_view Form::Get(std::string_view name) const {
  for (const auto& [key, value] : values_) {
    if (key == name) return value;
  }
  return {};
}

std::vector<std::string> Form::All(std::string_view name) const {
  std::vector<std::string> out;
  for (const auto& [key, value] : values_) {
    if (key == name) out.push_back(value);
  }
  return out;
}

StatusOr<int64_t> ParseInstant(std::string_view text) {
  constexpr double kFarthest = static_cast<double>(kMaxPosition) / 1e9;
  if (const std::optional<double> seconds = ParseDouble(text)) {
    if (std::isnan(*seconds))
      return InvalidArgument(Cat("cannot parse ", Quote(text), " to a valid timestamp"));
    if (*seconds >= kFarthest) return kMaxPosition;
    if (*seconds <= -kFarthest) return kMinPosition;
    double whole = 0;
    const double fraction = std::modf(*seconds, &whole);
    return static_cast<int64_t>(whole) * 1'000'000'000 + std::llround(fraction * 1000) * kMillis;
  }
  absl::Time time;
  std::string error;
  if (absl::ParseTime(absl::RFC3339_full, ToAbsl(text), &time, &error)) {
    if (time >= absl::FromUnixNanos(kMaxPosition)) return kMaxPosition;
    if (time <= absl::FromUnixNanos(kMinPosition)) return kMinPosition;
    return FloorTo(absl::ToUnixNanos(time), kMillis);
  }
  return InvalidArgument(Cat("cannot parse ", Quote(text), " to a valid timestamp"));
}

StatusOr<int64_t> ParseLength(std::string_view text) {
  if (const std::optional<double> seconds = ParseDouble(text)) {
    const double nanos = *seconds * 1e9;
    if (!(std::fabs(nanos) < 9.2e18)) {
      return InvalidArgument(
          Cat("cannot parse ", Quote(text), " to a valid duration. It overflows int64"));
    }
    return static_cast<int64_t>(nanos);
  }
  if (const StatusOr<int64_t> nanos = ParseDuration(text); nanos.ok() && !text.empty())
    return *nanos;
  return InvalidArgument(Cat("cannot parse ", Quote(text), " to a valid duration"));
}

StatusOr<size_t> ParseLimit(std::string_view text) {
  if (text.empty()) return size_t{0};
  const std::optional<int64_t> limit = ParseInt(text);
  if (!limit.has_value())
    return InvalidArgument(Cat("strconv.Atoi: parsing ", Quote(text), ": invalid syntax"));
  if (*limit < 0) return InvalidArgument("limit must be non-negative");
  return static_cast<size_t>(*limit);
}

}  // namespace pitwall::promapi
