// Responses in the JSON format of the Prometheus HTTP API.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/adapters/http/http_server.h"
#include "services/base/status.h"
#include "services/model/labels.h"

namespace pitwall::promapi {

// Values of errorType in the Prometheus API, each with its own HTTP status.
enum class ErrorType { kBadData, kExecution, kTimeout, kCanceled, kInternal, kNotFound };

// Messages that accompany the data. Warnings and infos are sorted and deduplicated on output.
struct Annotations {
  std::vector<std::string> warnings;
  std::vector<std::string> infos;
  // One message per missing peer. They precede the warnings. The response must not be cached.
  std::vector<std::string> missing;
};

http::HttpResponse ErrorAnswer(ErrorType type, std::string_view message);
// Returns an error with the message `invalid parameter "name": message`.
http::HttpResponse InvalidParameter(std::string_view name, std::string_view message);
// Returns the response for a failed evaluation or a failed read of the history.
http::HttpResponse FailedRun(const Status& status);
// `data` must be JSON.
http::HttpResponse DataAnswer(std::string_view data, const Annotations& annotations = {});

// Appends a quoted and escaped string.
void AppendText(std::string_view text, std::string* out);
// Appends {"name":"value",…}.
void AppendLabels(const Labels& labels, std::string* out);
// Appends ["a","b"].
void AppendTexts(const std::vector<std::string>& texts, std::string* out);
// Appends [seconds,"value"]. The time is truncated to milliseconds.
void AppendPoint(int64_t time_ns, double value, std::string* out);
// Formats a value like Go's strconv: in 'f' format, or in 'e' format below 1e-6 and at or above
// 1e21.
std::string FormatValue(double value);
// Formats a value in 'e' format regardless of its magnitude, for example 1.5e+00.
std::string FormatScientific(double value);
// Formats a time in UTC as RFC 3339, without trailing zeros in the fraction.
std::string FormatInstant(int64_t time_ns);

}  // namespace pitwall::promapi
