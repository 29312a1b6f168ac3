// Tokenizer of one line of OpenMetrics or of Prometheus' text format. Methods that fail return
// false, and error() has the cause and its place.
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

  // Finds the end of `name{labels}` by braces and quotes alone.
  bool FindSeriesEnd(size_t* end);
  // name{a="b"}, {"quoted name",a="b"}: all labels, including __name__, without duplicates.
  bool Series(std::vector<Label>* labels);
  // {a="b"}, as in exemplars.
  bool LabelSet(std::vector<Label>* labels);
  // Separator of two tokens: one space; in Prometheus' text, any number of blanks.
  bool Blank();
  // Metric name, with or without quotes.
  bool MetricName(std::string* name);
  // A number in PromQL's syntax. NaN becomes the plain NaN, which is not a marker.
  bool Value(double* value);
  // Event time in nanoseconds: seconds with a fraction in OpenMetrics, exactly, rounded to the
  // nearest nanosecond; whole milliseconds in Prometheus' text, not before 1973.
  bool Timestamp(int64_t* time_ns);
  // Text up to the next blank or the end.
  std::string_view Word();

  bool Fail(size_t at, std::string what);
  const std::string& error() const { return error_; }
  size_t error_at() const { return error_at_; }

 private:
  bool Quoted(std::string* text);
  bool Labels(std::vector<Label>* labels, bool name_allowed);
  void SkipBlanks();  // no effect in OpenMetrics

  std::string_view line_;
  const Dialect dialect_;
  size_t at_ = 0;
  size_t error_at_ = 0;
  std::string error_;
};

// Converts decimal seconds to nanoseconds without the rounding of doubles: 1767225600.123456789,
// 1.7672256e+09. Returns nullopt if the text is not a number, or is out of range.
std::optional<int64_t> ParseSeconds(std::string_view text);

}  // namespace pitwall::openmetrics
