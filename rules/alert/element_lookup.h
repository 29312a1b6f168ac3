// Lookup of one result's element in another result: the left side of the comparison, or the `clear`
// expression.
#pragma once

#include <cstdint>
#include <span>

#include "absl/container/inlined_vector.h"
#include "rules/eval/vector.h"
#include "services/model/labels.h"

namespace pitwall::alert {

// Returns whether all common labels, except the name, have equal values, as in {node="1"} and
// up{node="1",gpu="2"}. The lookup thus finds the elements from which `by`, `on`, or group_left
// computed a result.
bool Agree(const Labels& a, const Labels& b);

// Finds the elements of a column that belong to a label set. kOwn selects the element whose labels
// are equal except for the name. If it does not exist, kOwn selects all elements that agree with
// the label set. kAny selects all that agree, because the sides of an `or` in `clear` may have
// different labels. The lookup runs on first use and after the binding has changed. Otherwise it
// only reads one or a few presence bytes.
class ElementLookup {
 public:
  enum Which { kOwn, kAny };
  explicit ElementLookup(Which which = kOwn) : which_(which) {}

  // Returns the elements' indexes in `in`, in ascending order and including absent elements. Valid
  // until the next call.
  std::span<const uint32_t> Find(const Labels& labels, const eval::Vector& in);
  bool IsPresent(const Labels& labels, const eval::Vector& in);
  // Must be called before a lookup of other labels.
  void Reset() { binding_ = 0; }

 private:
  Which which_;
  uint64_t binding_ = 0;
  absl::InlinedVector<uint32_t, 2> places_;
};

}  // namespace pitwall::alert
