#include "services/codec/openmetrics/line_parser.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "services/base/text/strings.h"
#include "services/model/position.h"
#include "services/model/value.h"

namespace pitwall::openmetrics {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// A smaller timestamp must be in seconds, so the file is a truncated OpenMetrics file.
constexpr int64_t kLeastMillis = 100'000'000'000;

// Number of mantissa digits that fit into uint64.
constexpr int kDigits = 19;

uint64_t PowerOfTen(int exponent) {
  uint64_t power = 1;
  for (; exponent > 0; --exponent) power *= 10;
  return power;
}

}  // namespace

bool LineParser::Fail(size_t at, std::string what) {
  if (error_.empty()) {
    error_at_ = at;
    error_ = std::move(what);
  }
  return false;
}

bool LineParser::Skip(std::string_view text) {
  if (!StartsWith(Rest(), text)) return false;
  at_ += text.size();
  return true;
}

void LineParser::SkipBlanks() {
  if (dialect_ == Dialect::kOpenMetrics) return;
  while (!AtEnd() && IsBlank(line_[at_])) ++at_;
}

bool LineParser::Blank() {
  const size_t before = at_;
  if (dialect_ == Dialect::kOpenMetrics) {
    if (Skip(" ")) return true;
  } else {
    SkipBlanks();
    if (at_ > before) return true;
  }
  return Fail(at_, AtEnd() ? "unexpected end of line" : "expected a space");
}

std::string_view LineParser::Word() {
  const size_t first = at_;
  while (!AtEnd() && !IsBlank(line_[at_])) ++at_;
  return line_.substr(first, at_ - first);
}

bool LineParser::FindSeriesEnd(size_t* end) {
  size_t i = at_;
  while (i < line_.size() && line_[i] != '{' && !IsBlank(line_[i])) ++i;
  size_t brace = i;
  if (dialect_ == Dialect::kPrometheusText) {
    while (brace < line_.size() && IsBlank(line_[brace])) ++brace;
  }
  if (brace < line_.size() && line_[brace] == '{') {
    bool quoted = false;
    for (i = brace + 1; i < line_.size(); ++i) {
      const char c = line_[i];
      if (quoted && c == '\\') {
        ++i;
      } else if (c == '"') {
        quoted = !quoted;
      } else if (!quoted && c == '}') {
        *end = i + 1;
        return true;
      }
    }
    return Fail(brace, quoted ? "unterminated quoted string in these labels"
                              : "expected } after these labels");
  }
  *end = i;
  return true;
}

bool LineParser::Quoted(std::string* text) {
  const size_t first = at_;
  if (!Skip("\"")) return Fail(at_, "expected a double-quoted string");
  text->clear();
  for (; !AtEnd(); ++at_) {
    const char c = line_[at_];
    if (c == '"') {
      ++at_;
      return true;
    }
    if (c != '\\') {
      text->push_back(c);
      continue;
    }
    if (at_ + 1 == line_.size()) break;
    const char escaped = line_[++at_];
    // Backslashes before other characters are literal.
    if (escaped != 'n' && escaped != '"' && escaped != '\\') text->push_back('\\');
    text->push_back(escaped == 'n' ? '\n' : escaped);
  }
  return Fail(first, "unterminated quoted string");
}

bool LineParser::MetricName(std::string* name) {
  const size_t first = at_;
  if (!AtEnd() && line_[at_] == '"') {
    if (!Quoted(name)) return false;
    return !name->empty() || Fail(first, "the metric name is empty");
  }
  while (!AtEnd() &&
         (IsNameStart(line_[at_]) || line_[at_] == ':' || (at_ > first && IsDigit(line_[at_])))) {
    ++at_;
  }
  *name = line_.substr(first, at_ - first);
  return at_ > first || Fail(first, "expected a metric name");
}

bool LineParser::Labels(std::vector<Label>* labels, bool name_allowed) {
  ++at_;  // {
  SkipBlanks();
  bool first_item = true;
  while (!Skip("}")) {
    if (!first_item) {
      if (!Skip(",")) return Fail(at_, "expected a comma or }");
      SkipBlanks();
      if (dialect_ == Dialect::kPrometheusText && Skip("}"))
        break;  // the list may end with a comma
    }
    const size_t start = at_;
    Label label;
    const bool quoted = !AtEnd() && line_[at_] == '"';
    if (quoted) {
      if (!Quoted(&label.name)) return false;
    } else {
      while (!AtEnd() && (IsNameStart(line_[at_]) || (at_ > start && IsDigit(line_[at_])))) {
        ++at_;
      }
      label.name = line_.substr(start, at_ - start);
    }
    if (label.name.empty()) return Fail(start, "expected a label name");
    SkipBlanks();
    if (quoted && name_allowed && first_item && (AtEnd() || line_[at_] != '=')) {
      labels->push_back({std::string(kMetricName), std::move(label.name)});
      first_item = false;
      SkipBlanks();
      continue;
    }
    first_item = false;
    if (label.name == kMetricName)
      return Fail(start, "__name__ cannot be a label; write the metric name before the braces");
    if (!Skip("=")) return Fail(at_, Cat("expected = after the label ", Quote(label.name)));
    SkipBlanks();
    if (!Quoted(&label.value)) return false;
    SkipBlanks();
    const bool twice = std::any_of(labels->begin(), labels->end(),
                                   [&](const Label& l) { return l.name == label.name; });
    if (twice) return Fail(start, Cat("the label ", Quote(label.name), " appears twice"));
    labels->push_back(std::move(label));
  }
  return true;
}

bool LineParser::LabelSet(std::vector<Label>* labels) {
  if (AtEnd() || line_[at_] != '{') return Fail(at_, "expected {");
  return Labels(labels, /*name_allowed=*/false);
}

bool LineParser::Series(std::vector<Label>* labels) {
  const size_t first = at_;
  bool named = false;
  if (!AtEnd() && line_[at_] != '{') {
    Label name{std::string(kMetricName), ""};
    // Quoted names are valid only inside braces.
    if (line_[at_] == '"') return Fail(at_, "a quoted metric name must be inside the braces");
    if (!MetricName(&name.value)) return false;
    labels->push_back(std::move(name));
    named = true;
    const size_t after = at_;
    SkipBlanks();
    if (AtEnd() || line_[at_] != '{') at_ = after;
  }
  if (!AtEnd() && line_[at_] == '{') {
    if (!Labels(labels, /*name_allowed=*/!named)) return false;
    named = named || (!labels->empty() && labels->front().name == kMetricName);
  }
  if (!named || labels->front().value.empty()) return Fail(first, "the metric name is missing");
  return true;
}

bool LineParser::Value(double* value) {
  const size_t first = at_;
  const std::string_view word = Word();
  if (word.empty()) return Fail(first, "the value is missing");
  const std::optional<double> parsed = ParseDouble(word);
  if (!parsed.has_value()) return Fail(first, Cat("the value ", Quote(word), " is not a number"));
  *value = std::isnan(*parsed) ? NormalNan() : *parsed;
  return true;
}

bool LineParser::Timestamp(int64_t* time_ns) {
  const size_t first = at_;
  const std::string_view word = Word();
  std::optional<int64_t> parsed;
  if (dialect_ == Dialect::kOpenMetrics) {
    parsed = ParseSeconds(word);
  } else if (const auto millis = ParseInt(word);
             millis && *millis > -kMaxPosition / 1'000'000 && *millis < kMaxPosition / 1'000'000) {
    if (*millis > -kLeastMillis && *millis < kLeastMillis) {
      return Fail(first, Cat("the timestamp ", word,
                             " is in 1970 if it is in milliseconds; if it is in seconds, this "
                             "is a truncated OpenMetrics file"));
    }
    parsed = *millis * 1'000'000;
  }
  if (!parsed.has_value()) {
    return Fail(first, Cat("the timestamp ", Quote(word), " must be in ",
                           dialect_ == Dialect::kOpenMetrics ? "seconds" : "whole milliseconds",
                           " and before the year 2043"));
  }
  *time_ns = *parsed;
  return true;
}

std::optional<int64_t> ParseSeconds(std::string_view text) {
  size_t i = 0;
  bool negative = false;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) negative = text[i++] == '-';
  uint64_t mantissa = 0;
  int digits = 0;  // significant digits
  int64_t exponent = 9;
  bool any = false;
  bool fraction = false;
  for (; i < text.size(); ++i) {
    if (text[i] == '.' && !fraction) {
      fraction = true;
      continue;
    }
    if (!IsDigit(text[i])) break;
    any = true;
    if (digits < kDigits) {
      mantissa = mantissa * 10 + static_cast<uint64_t>(text[i] - '0');
      digits += mantissa != 0 ? 1 : 0;
      exponent -= fraction ? 1 : 0;
    } else {
      exponent += fraction ? 0 : 1;
    }
  }
  if (!any) return std::nullopt;
  if (i < text.size()) {
    if (text[i] != 'e' && text[i] != 'E') return std::nullopt;
    const std::string_view power = text.substr(i + 1);
    const bool sign = !power.empty() && (power[0] == '+' || power[0] == '-');
    if (power.size() == (sign ? 1U : 0U) || !IsDigit(power[sign ? 1 : 0])) return std::nullopt;
    const auto parsed = ParseInt(power);
    if (!parsed.has_value() || *parsed < -10'000 || *parsed > 10'000) return std::nullopt;
    exponent += *parsed;
  }
  if (mantissa == 0) return 0;
  if (exponent > kDigits) return std::nullopt;
  if (exponent >= 0) {
    if (mantissa > static_cast<uint64_t>(kMaxPosition) / PowerOfTen(static_cast<int>(exponent)))
      return std::nullopt;
    mantissa *= PowerOfTen(static_cast<int>(exponent));
  } else if (exponent < -kDigits) {
    mantissa = 0;
  } else {
    const uint64_t divisor = PowerOfTen(static_cast<int>(-exponent));
    const uint64_t rest = mantissa % divisor;
    mantissa = mantissa / divisor + (rest >= divisor - rest ? 1 : 0);
  }
  if (mantissa >= static_cast<uint64_t>(kMaxPosition)) return std::nullopt;
  const auto time = static_cast<int64_t>(mantissa);
  return negative ? -time : time;
}

}  // namespace pitwall::openmetrics
