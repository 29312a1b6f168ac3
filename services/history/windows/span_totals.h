// Totals of equal spans of a window, and their pages (metric_pages.h): totals of whole windows are
// read without opening their segments.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/base/text/strings.h"
#include "services/history/history.h"
#include "services/history/windows/span_list.h"

namespace pitwall::history {

// Adds a span of that length, or another total.
void AddTo(OperatorTotal* total, int64_t length_ns);
void Merge(const OperatorTotal& other, OperatorTotal* total);

// Totals by rank, kind, and name over all sources and windows. Not thread-safe.
class SpanTotals {
 public:
  void Clear();
  // Returns the same number for the same name.
  uint32_t NameOf(std::string_view name);
  // Returns the total to add to.
  OperatorTotal* At(int64_t rank, Span::Kind kind, uint32_t name);
  OperatorTotal* At(int64_t rank, Span::Kind kind, std::string_view name) {
    return At(rank, kind, NameOf(name));
  }
  // Sorted by rank, kind, and name.
  std::vector<OperatorTotal> Take();

 private:
  struct Key {
    int64_t rank;
    Span::Kind kind;
    uint32_t name;
    friend bool operator==(const Key&, const Key&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Key& key) {
      return H::combine(std::move(h), key.rank, key.kind, key.name);
    }
  };
  StringMap<uint32_t> names_;
  absl::flat_hash_map<Key, OperatorTotal> totals_;  // without rank, kind, and name
};

// Returns sorted totals. Nothing: a span ends before it begins, so that the window's totals cannot
// answer for a range of starts; each span must then be read.
std::optional<std::vector<OperatorTotal>> TotalsOf(const SpanLists& spans);

// Columns of the totals of a page.
struct TotalsPage {
  std::vector<std::string> names;
  std::vector<int64_t> ranks, kinds, name_numbers, counts, sums, least, greatest;
};
std::string EncodeTotals(std::span<const OperatorTotal> totals);
// False: malformed.
bool DecodeTotals(std::string_view text, TotalsPage* page);

}  // namespace pitwall::history
