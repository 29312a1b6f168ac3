// Responses in the JSON format of Prometheus' HTTP API.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/adapters/http/http_server.h"
#include "services/base/status.h"
#include "services/model/labels.h"

namespace pitwall::promapi {

// Values of Prometheus' errorType, each with its HTTP code.
enum class ErrorType { kBadData, kExecution, kTimeout, kCanceled, kInternal, kNotFound };

// Messages beside the data, sorted and deduplicated when written.
struct Annotations {
  std::vector<std::string> warnings;
  std::vector<std::string> infos;
};

http::HttpResponse ErrorAnswer(ErrorType type, std::string_view message);
// Returns `invalid parameter "name": message`.
http::HttpResponse InvalidParameter(std::string_view name, std::string_view message);
// Response for a failed evaluation or a failed read of the history.
http::HttpResponse FailedRun(const Status& status);
// `data` must be JSON.
http::HttpResponse DataAnswer(std::string_view data, const Annotations& annotations = {});

// Appends a quoted and escaped string.
void AppendText(std::string_view text, std::string* out);
// Appends {"name":"value",…}.
void AppendLabels(const Labels& labels, std::string* out);
// Appends ["a","b"].
void AppendTexts(const std::vector<std::string>& texts, std::string* out);
// Appends [seconds,"value"]; nanoseconds below a millisecond are dropped.
void AppendPoint(int64_t time_ns, double value, std::string* out);
// Formats like Go's strconv: 'f', or 'e' below 1e-6 and from 1e21 on.
std::string FormatValue(double value);
// Always formats as 'e': 1.5e+00.
std::string FormatScientific(double value);
// Formats RFC 3339 in UTC, without trailing zeros in the fraction.
std::string FormatInstant(int64_t time_ns);

}  // namespace pitwall::promapi
