// Label matchers in a selector: =, !=, =~, !~. Regular expressions use RE2 and are anchored at both
// ends as in PromQL.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/model/labels.h"

namespace re2 {
class RE2;
}

namespace pitwall {

enum class MatchOp { kEqual, kNotEqual, kRegex, kNotRegex };

class Matcher {
 public:
  // Creates a matcher. Returns InvalidArgument with RE2's message if the pattern is malformed.
  static StatusOr<Matcher> Make(std::string_view label, MatchOp op, std::string_view value);
  bool Matches(std::string_view value) const;
  const std::string& label() const { return label_; }
  MatchOp op() const { return op_; }
  const std::string& value() const { return value_; }
  std::string ToString() const;  // formats as a="b"

 private:
  std::string label_;
  MatchOp op_ = MatchOp::kEqual;
  std::string value_;
  std::shared_ptr<const re2::RE2> pattern_;  // shared because matchers are copyable and RE2 is not
};

// Vector selector without range, offset, or clock: a conjunction of matchers, including one for the
// metric name.
struct Selector {
  std::vector<Matcher> matchers;

  bool Matches(const Labels& labels) const;
  // Returns the metric name if a matcher specifies it with '=', or "".
  std::string_view MetricName() const;
  // Returns the canonical text with sorted matchers. Equal selectors have equal keys.
  std::string Key() const;
};

}  // namespace pitwall
