// Label sets as Prometheus has them: sorted by name, no empty values, compared pair by pair.
#pragma once

#include <compare>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pitwall {

inline constexpr std::string_view kMetricName = "__name__";

struct Label {
  std::string name;
  std::string value;
  friend auto operator<=>(const Label&, const Label&) = default;
};

// Immutable once built, except through the assigning operators. The metric name is the label
// __name__.
class Labels {
 public:
  Labels() = default;
  Labels(std::initializer_list<std::pair<std::string_view, std::string_view>> pairs);
  // Sorts by name; drops labels with empty values (to PromQL they are absent); of equal names the
  // last one stays.
  static Labels FromPairs(std::vector<Label> pairs);

  // The value, "" when absent.
  std::string_view Get(std::string_view name) const;
  bool Has(std::string_view name) const { return !Get(name).empty(); }
  std::string_view Name() const { return Get(kMetricName); }
  bool empty() const { return pairs_.empty(); }
  size_t size() const { return pairs_.size(); }
  std::span<const Label> pairs() const { return pairs_; }
  auto begin() const { return pairs_.begin(); }
  auto end() const { return pairs_.end(); }

  // Copies with one label set (an empty value removes it), with only `names`, without `names`,
  // without __name__.
  Labels With(std::string_view name, std::string_view value) const;
  Labels Keep(std::span<const std::string> names) const;
  Labels Drop(std::span<const std::string> names) const;
  Labels DropName() const;

  // name{a="b",c="d"}, {} when empty: values escaped as in PromQL.
  std::string ToString() const;
  // Same on every machine and for ever (stable_hash.h).
  uint64_t StableHash() const;

  // Order of Prometheus' labels.Compare: pair by pair, name before value, a prefix first.
  friend auto operator<=>(const Labels&, const Labels&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Labels& labels) {
    for (const Label& label : labels.pairs_) h = H::combine(std::move(h), label.name, label.value);
    return H::combine(std::move(h), labels.pairs_.size());
  }

 private:
  std::vector<Label> pairs_;
};

}  // namespace pitwall
