// Results of evaluation: columns of values with a column of label sets.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rules/plan/program/program.h"
#include "services/model/labels.h"

namespace pitwall::eval {

// An immutable list of label sets in labels.h order, without duplicates. Shared: alert states keep
// the pointer, instead of copies, to know the elements of earlier ticks. Behaves like a span<const
// Labels>.
class LabelColumn {
 public:
  class Iterator {
   public:
    using value_type = Labels;
    using difference_type = std::ptrdiff_t;
    explicit Iterator(const Labels* const* at = nullptr) : at_(at) {}
    const Labels& operator*() const { return **at_; }
    const Labels* operator->() const { return *at_; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) {
      Iterator old = *this;
      ++at_;
      return old;
    }
    friend bool operator==(Iterator, Iterator) = default;

   private:
    const Labels* const* at_;
  };

  // `labels` in any order; aborts on duplicates. For tests and for results that do not come from an
  // Evaluator.
  static std::shared_ptr<const LabelColumn> Of(std::vector<Labels> labels);
  // `sorted` refers to memory that `owner` keeps alive.
  LabelColumn(std::vector<const Labels*> sorted, std::vector<uint32_t> ids,
              std::shared_ptr<const void> owner);

  size_t size() const { return labels_.size(); }
  bool empty() const { return labels_.empty(); }
  const Labels& operator[](size_t i) const { return *labels_[i]; }
  Iterator begin() const { return Iterator(labels_.data()); }
  Iterator end() const { return Iterator(labels_.data() + labels_.size()); }
  // Position of `labels`, or -1. A binary search.
  int64_t Find(const Labels& labels) const;
  // Whether all elements have the same label names and metric name: false where an `or` joined
  // sides that differ in them. Computed once.
  bool IsUniform() const;

  // Unique among the columns of this process; 0 for none. Never part of an output.
  uint64_t binding() const { return binding_; }
  // Inside rules/eval: the interned IDs, parallel to the labels. Empty for Of().
  std::span<const uint32_t> ids() const { return ids_; }

 private:
  std::vector<const Labels*> labels_;
  std::vector<uint32_t> ids_;
  std::shared_ptr<const void> owner_;
  uint64_t binding_;
  enum : int8_t { kNotLooked, kUniform, kMixed };
  mutable std::atomic<int8_t> uniform_ = kNotLooked;  // the same for every reader
};

using LabelColumnPtr = std::shared_ptr<const LabelColumn>;

// A result at one tick. Element i is present if present[i] is not 0; otherwise its value is
// undefined. No two elements have equal labels. A scalar has one element, always present, with the
// empty label set.
//
// The spans are valid until the evaluator's next Begin, Changed, or Evaluate after a change of the
// store; `column` is valid while it is held.
struct Vector {
  plan::ValueType type = plan::ValueType::kVector;
  LabelColumnPtr column;
  std::span<const double> values;
  std::span<const uint8_t> present;
  uint64_t binding = 0;  // column->binding(): while it is unchanged, element i is the same element

  size_t size() const { return values.size(); }
  const Labels& labels(size_t i) const { return (*column)[i]; }
  // The value of a scalar.
  double scalar() const { return values[0]; }
  // Number of present elements.
  size_t CountPresent() const;
};

}  // namespace pitwall::eval
