// Evaluation results: columns of values, each with a column of label sets.
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

// Immutable list of label sets in labels.h order, without duplicates. The list is shared: alert
// states keep the pointer instead of copying the elements of earlier ticks. Behaves like a
// span<const Labels>.
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

  // Creates a column from labels in any order. Aborts if there are duplicates. For tests and for
  // results that do not come from an Evaluator.
  static std::shared_ptr<const LabelColumn> Of(std::vector<Labels> labels);
  // `sorted` refers to memory that `owner` keeps alive.
  LabelColumn(std::vector<const Labels*> sorted, std::vector<uint32_t> ids,
              std::shared_ptr<const void> owner);

  size_t size() const { return labels_.size(); }
  bool empty() const { return labels_.empty(); }
  const Labels& operator[](size_t i) const { return *labels_[i]; }
  Iterator begin() const { return Iterator(labels_.data()); }
  Iterator end() const { return Iterator(labels_.data() + labels_.size()); }
  // Returns the position of `labels`, or -1, by binary search.
  int64_t Find(const Labels& labels) const;
  // Returns true if all elements have the same metric name and the same label names. An `or` may
  // combine sides that differ in these names. Computed once.
  bool IsUniform() const;

  // Returns a number that is unique among the columns in this process; 0 means no column. The
  // number never appears in output.
  uint64_t binding() const { return binding_; }
  // Returns the interned IDs used inside rules/eval, parallel to the labels. Empty for columns
  // created by Of().
  std::span<const uint32_t> ids() const { return ids_; }

 private:
  std::vector<const Labels*> labels_;
  std::vector<uint32_t> ids_;
  std::shared_ptr<const void> owner_;
  uint64_t binding_;
  enum : int8_t { kNotLooked, kUniform, kMixed };
  mutable std::atomic<int8_t> uniform_ = kNotLooked;  // concurrent readers compute the same value
};

using LabelColumnPtr = std::shared_ptr<const LabelColumn>;

// A result at one tick. Element i is present if present[i] is not 0; otherwise its value is
// undefined. No two elements have equal labels. A scalar has one element, always present, with the
// empty label set.
//
// The spans are valid until the next call to the evaluator's Begin or Changed, or to Evaluate after
// the store has changed. `column` is valid while the caller holds the pointer.
struct Vector {
  plan::ValueType type = plan::ValueType::kVector;
  LabelColumnPtr column;
  std::span<const double> values;
  std::span<const uint8_t> present;
  uint64_t binding = 0;  // column->binding(); while it is unchanged, element i has the same labels

  size_t size() const { return values.size(); }
  const Labels& labels(size_t i) const { return (*column)[i]; }
  // Returns the value of the scalar.
  double scalar() const { return values[0]; }
  // Returns the number of present elements.
  size_t CountPresent() const;
};

}  // namespace pitwall::eval
