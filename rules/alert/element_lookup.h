// Lookup of an element of one result in another: the left side of the comparison, or the `clear`
// expression.
#pragma once

#include <cstdint>
#include <span>

#include "absl/container/inlined_vector.h"
#include "rules/eval/vector.h"
#include "services/model/labels.h"

namespace pitwall::alert {

// Whether all labels that both have, apart from the name, agree: {node="1"} and
// up{node="1",gpu="2"} do. So a result of `by`, `on` or group_left finds what it was made of.
bool Agree(const Labels& a, const Labels& b);

// The elements of a column that belong to a label set. kOwn: the one with these labels, apart from
// the name, or else all that agree with it. kAny: all that agree, since the sides of an `or` in
// `clear` may differ in labels, and each may say it. Found when first asked for, and again when the
// binding changed; in between a look-up reads one or a few presence bytes.
class ElementLookup {
 public:
  enum Which { kOwn, kAny };
  explicit ElementLookup(Which which = kOwn) : which_(which) {}

  // Their places in `in`, ascending, whether present or not. Valid until the next call.
  std::span<const uint32_t> Find(const Labels& labels, const eval::Vector& in);
  bool IsPresent(const Labels& labels, const eval::Vector& in);
  // For other labels.
  void Reset() { binding_ = 0; }

 private:
  Which which_;
  uint64_t binding_ = 0;
  absl::InlinedVector<uint32_t, 2> places_;
};

}  // namespace pitwall::alert
