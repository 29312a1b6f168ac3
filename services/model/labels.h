// Label sets as in Prometheus: sorted by name, without empty values, and compared pair by pair.
#pragma once

#include <compare>
#include <cstdint>
#include <initializer_list>
#include <memory>
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

// Immutable once built, except by assignment. Copies share the labels and the cached hash, so a
// copy only increments a reference count. The metric name is the label __name__.
class Labels {
 public:
  Labels() = default;
  Labels(std::initializer_list<std::pair<std::string_view, std::string_view>> pairs);
  Labels(const Labels&) = default;
  Labels& operator=(const Labels&) = default;
  Labels(Labels&& other) noexcept { Swap(other); }
  Labels& operator=(Labels&& other) noexcept {
    Labels taken(std::move(other));
    Swap(taken);
    return *this;
  }
  ~Labels() = default;
  // Sorts labels by name. Drops labels with empty values, which PromQL treats as absent. If a name
  // occurs several times, the last label is kept.
  static Labels FromPairs(std::vector<Label> pairs);

  // Returns the value, or "" if the label is absent.
  std::string_view Get(std::string_view name) const;
  bool Has(std::string_view name) const { return !Get(name).empty(); }
  std::string_view Name() const { return Get(kMetricName); }
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  std::span<const Label> pairs() const { return {begin(), size_}; }
  const Label* begin() const { return pairs_.get(); }
  const Label* end() const { return begin() + size_; }

  // The following functions return copies with one label changed (an empty value removes it), with
  // only `names`, without `names`, or without __name__.
  Labels With(std::string_view name, std::string_view value) const;
  Labels Keep(std::span<const std::string> names) const;
  Labels Drop(std::span<const std::string> names) const;
  Labels DropName() const;

  // Returns name{a="b",c="d"}, or {} if empty, with values escaped as in PromQL.
  std::string ToString() const;
  // Returns a hash that is stable across machines and versions (stable_hash.h).
  uint64_t StableHash() const;

  // Orders like labels.Compare in Prometheus: pair by pair, name before value, prefixes first.
  friend std::strong_ordering operator<=>(const Labels& a, const Labels& b) {
    return a.pairs_ == b.pairs_ ? std::strong_ordering::equal : Compare(a, b);
  }
  friend bool operator==(const Labels& a, const Labels& b) {
    return a.pairs_ == b.pairs_ || (a.size_ == b.size_ && a.hash_ == b.hash_ && Compare(a, b) == 0);
  }
  template <typename H>
  friend H AbslHashValue(H h, const Labels& labels) {
    return H::combine(std::move(h), labels.hash_, labels.size_);
  }

 private:
  // Requires sorted pairs without empty values or duplicate names.
  static Labels Own(std::vector<Label> pairs);
  void Swap(Labels& other) noexcept {
    pairs_.swap(other.pairs_);
    std::swap(size_, other.size_);
    std::swap(hash_, other.hash_);
  }
  template <typename Wanted>
  Labels Where(Wanted wanted) const;
  static std::strong_ordering Compare(const Labels& a, const Labels& b);

  std::shared_ptr<const Label[]> pairs_;  // null: no labels
  uint32_t size_ = 0;
  uint32_t hash_ = 0;  // cached hash, valid only within the process
};

}  // namespace pitwall
