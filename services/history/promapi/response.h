// Answers in the JSON of Prometheus' HTTP API.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/adapters/http/http_server.h"
#include "services/base/status.h"
#include "services/model/labels.h"

namespace pitwall::promapi {

// Which errorType of Prometheus; each has its HTTP code.
enum class ErrorType { kBadData, kExecution, kTimeout, kCanceled, kInternal, kNotFound };

// What the user is told beside the data. Sorted and without duplicates when they are written.
struct Annotations {
  std::vector<std::string> warnings;
  std::vector<std::string> infos;
};

http::HttpResponse ErrorAnswer(ErrorType type, std::string_view message);
// `invalid parameter "name": message`
http::HttpResponse InvalidParameter(std::string_view name, std::string_view message);
// Of an evaluation or a read of the history that failed.
http::HttpResponse FailedRun(const Status& status);
// `data` is JSON.
http::HttpResponse DataAnswer(std::string_view data, const Annotations& annotations = {});

// "text", with escapes.
void AppendText(std::string_view text, std::string* out);
// {"name":"value",…}
void AppendLabels(const Labels& labels, std::string* out);
// ["a","b"]
void AppendTexts(const std::vector<std::string>& texts, std::string* out);
// [seconds,"value"]: nanoseconds below a millisecond are left out.
void AppendPoint(int64_t time_ns, double value, std::string* out);
// As Go's strconv writes it: 'f', or 'e' below 1e-6 and from 1e21 on.
std::string FormatValue(double value);
// Always 'e': 1.5e+00.
std::string FormatScientific(double value);
// RFC 3339 in UTC, without zeros at the end of the fraction.
std::string FormatInstant(int64_t time_ns);

}  // namespace pitwall::promapi
