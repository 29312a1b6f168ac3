// Tokenizer for one line of OpenMetrics or the Prometheus text format. If a method fails, it
// returns false, and error() returns the cause and its location.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/model/labels.h"

namespace pitwall::openmetrics {

enum class Dialect { kOpenMetrics, kPrometheusText };

class LineParser {
 public:
  LineParser(std::string_view line, Dialect dialect) : line_(line), dialect_(dialect) {}

  std::string_view line() const { return line_; }
  size_t at() const { return at_; }
  bool AtEnd() const { return at_ == line_.size(); }
  std::string_view Rest() const { return line_.substr(at_); }
  void MoveTo(size_t offset) { at_ = offset; }
  // Consumes `text` if it is next.
  bool Skip(std::string_view text);

  // Finds the end of `name{labels}` by looking only at braces and quotes.
  bool FindSeriesEnd(size_t* end);
  // Parses name{a="b"} or {"quoted name",a="b"} into all labels, including __name__, and rejects
  // duplicates.
  bool Series(std::vector<Label>* labels);
  // Parses {a="b"}, the label set of an exemplar.
  bool LabelSet(std::vector<Label>* labels);
  // Consumes the separator between two tokens: one space in OpenMetrics, any number of blanks in
  // the Prometheus text format.
  bool Blank();
  // Parses a metric name with or without quotes.
  bool MetricName(std::string* name);
  // Parses a number in PromQL syntax. Every NaN becomes the plain NaN, so it cannot be mistaken for
  // a marker.
  bool Value(double* value);
  // Parses a timestamp into nanoseconds. OpenMetrics timestamps are seconds with a fraction,
  // converted exactly and rounded to the nearest nanosecond. Prometheus text timestamps are whole
  // milliseconds, not before 1973.
  bool Timestamp(int64_t* time_ns);
  // Returns the text up to the next blank or the end of the line.
  std::string_view Word();

  bool Fail(size_t at, std::string what);
  const std::string& error() const { return error_; }
  size_t error_at() const { return error_at_; }

 private:
  bool Quoted(std::string* text);
  bool Labels(std::vector<Label>* labels, bool name_allowed);
  void SkipBlanks();  // does nothing in OpenMetrics

  std::string_view line_;
  const Dialect dialect_;
  size_t at_ = 0;
  size_t error_at_ = 0;
  std::string error_;
};

// Converts decimal seconds to nanoseconds without floating-point rounding. Accepts
// 1767225600.123456789 and 1.7672256e+09. Returns nullopt if the text is not a number or is out of
// range.
std::optional<int64_t> ParseSeconds(std::string_view text);

}  // namespace pitwall::openmetrics
