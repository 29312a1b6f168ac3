#include "services/model/matcher.h"

#include <re2/re2.h>

#include <algorithm>

#include "services/base/text/strings.h"

namespace pitwall {

StatusOr<Matcher> Matcher::Make(std::string_view label, MatchOp op, std::string_view value) {
  Matcher m;
  m.label_ = label;
  m.op_ = op;
  m.value_ = value;
  if (op == MatchOp::kRegex || op == MatchOp::kNotRegex) {
    RE2::Options options;
    options.set_log_errors(false);
    options.set_dot_nl(true);  // like Prometheus, which compiles "^(?s:...)$"
    options.set_max_mem(1 << 20);
    auto pattern = std::make_shared<RE2>(m.value_, options);
    if (!pattern->ok()) {
      return InvalidArgument(Cat("bad regular expression ", Quote(value), ": ", pattern->error()));
    }
    m.pattern_ = std::move(pattern);
  }
  return m;
}

bool Matcher::Matches(std::string_view value) const {
  switch (op_) {
    case MatchOp::kEqual:
      return value == value_;
    case MatchOp::kNotEqual:
      return value != value_;
    case MatchOp::kRegex:
      return RE2::FullMatch(re2::StringPiece(value.data(), value.size()), *pattern_);
    case MatchOp::kNotRegex:
      return !RE2::FullMatch(re2::StringPiece(value.data(), value.size()), *pattern_);
  }
  return false;
}

std::string Matcher::ToString() const {
  constexpr std::string_view kOps[] = {"=", "!=", "=~", "!~"};
  return Cat(label_, kOps[static_cast<int>(op_)], Quote(value_));
}

bool Selector::Matches(const Labels& labels) const {
  for (const Matcher& matcher : matchers) {
    if (!matcher.Matches(labels.Get(matcher.label()))) return false;
  }
  return true;
}

std::string_view Selector::MetricName() const {
  for (const Matcher& matcher : matchers) {
    if (matcher.label() == kMetricName && matcher.op() == MatchOp::kEqual) return matcher.value();
  }
  return {};
}

std::string Selector::Key() const {
  std::vector<std::string> parts;
  for (const Matcher& matcher : matchers) parts.push_back(matcher.ToString());
  std::sort(parts.begin(), parts.end());
  return Cat("{", Join(parts, ","), "}");
}

}  // namespace pitwall
