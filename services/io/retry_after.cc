#include "services/io/retry_after.h"

#include <algorithm>
#include <cmath>

#include "absl/time/time.h"
#include "services/base/clock.h"
#include "services/base/text/strings.h"

namespace pitwall {

namespace {

constexpr int64_t kMaxSeconds = 3600;
constexpr Duration kMaxRetryAfter = Duration::Seconds(kMaxSeconds);
constexpr std::string_view kDateForms[] = {"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT",
                                           "%a %b %e %H:%M:%S %Y"};

}  // namespace

std::optional<EventTime> ParseHttpDate(std::string_view text) {
  for (const std::string_view form : kDateForms) {
    absl::Time at;
    std::string error;
    if (absl::ParseTime(ToAbsl(form), ToAbsl(Trim(text)), absl::UTCTimeZone(), &at, &error))
      return EventTime::FromNs(absl::ToUnixNanos(at));
  }
  return std::nullopt;
}

Duration ParseRetryAfter(std::string_view value, EventTime wall) {
  value = Trim(value);
  if (const std::optional<double> seconds = ParseDouble(value)) {
    if (!(*seconds > 0)) return Duration::Zero();
    return Duration::Nanos(std::llround(std::min<double>(*seconds, kMaxSeconds) * kNanosPerSecond));
  }
  const auto at = ParseHttpDate(value);
  return at ? std::clamp(*at - wall, Duration::Zero(), kMaxRetryAfter) : Duration::Zero();
}

Duration RetryAfterOf(const HttpReply& reply) {
  const auto date = ParseHttpDate(reply.Header("date"));
  const std::string_view value = reply.Header("retry-after");
  if (!date && ParseHttpDate(value)) return Duration::Zero();
  return ParseRetryAfter(value, date.value_or(EventTime()));
}

bool IsRetriable(int http_status) {
  return http_status == 408 || http_status == 425 || http_status == 429 ||
         (http_status >= 500 && http_status != 501 && http_status != 505);
}

}  // namespace pitwall
