// Times at which a query's selectors and subqueries read samples. Encode replaces `@` modifiers and
// offsets of either sign with codes in the offset fields of the expression tree. The planner copies
// these codes to the demands, and QueryTimes decodes them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "rules/lang/ast.h"
#include "services/base/status.h"

namespace pitwall::query {

class QueryTimes {
 public:
  // `start` and `end` are the values for `@ start()` and `@ end()`, in nanoseconds.
  QueryTimes(int64_t start, int64_t end) : start_(start), end_(end) {}

  // Replaces the modifiers of all selectors and subqueries in the tree with codes. Returns
  // InvalidArgument if a time is out of range.
  Status Encode(lang::Expr* expr);

  // Returns the end of the window that a demand with this offset reads at `tick`.
  int64_t EndAt(int64_t offset, int64_t tick) const;
  // Returns true if the window ends at the same time for every tick.
  bool IsFixed(int64_t offset) const;

 private:
  struct Time {
    std::optional<int64_t> at;
    int64_t offset = 0;
    friend bool operator==(const Time&, const Time&) = default;
  };
  Status EncodeModifiers(lang::Modifiers* modifiers);

  int64_t start_, end_;
  std::vector<Time> times_;  // indexed by code
};

}  // namespace pitwall::query
