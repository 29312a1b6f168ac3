// Totals of equal spans in a window, and their pages (metric_pages.h). Queries read the totals for
// whole windows without opening segments.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/base/text/strings.h"
#include "services/history/history.h"
#include "services/history/windows/span_list.h"

namespace pitwall::history {

// Add a span of the given length (AddTo) or another total (Merge).
void AddTo(OperatorTotal* total, int64_t length_ns);
void Merge(const OperatorTotal& other, OperatorTotal* total);

// Totals of spans by rank, kind, and name across all sources and windows. Not thread-safe.
class SpanTotals {
 public:
  void Clear();
  // Returns a number for the name. Equal names have equal numbers.
  uint32_t NameOf(std::string_view name);
  // Returns the total for the key. The caller updates it.
  OperatorTotal* At(int64_t rank, Span::Kind kind, uint32_t name);
  OperatorTotal* At(int64_t rank, Span::Kind kind, std::string_view name) {
    return At(rank, kind, NameOf(name));
  }
  // Returns the totals sorted by rank, kind, and name.
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
  absl::flat_hash_map<Key, OperatorTotal> totals_;  // the rank, kind, and name fields are unset
};

// Returns sorted totals, or no value if a span ends before it starts. The window's totals then
// cannot answer a query for a range of start times, so each span must be read.
std::optional<std::vector<OperatorTotal>> TotalsOf(const SpanLists& spans);

// Columns of a totals page.
struct TotalsPage {
  std::vector<std::string> names;
  std::vector<int64_t> ranks, kinds, name_numbers, counts, sums, least, greatest;
  static constexpr auto BinaryMembers() {
    using T = TotalsPage;
    return std::tuple(&T::names, &T::ranks, &T::kinds, &T::name_numbers, &T::counts, &T::sums,
                      &T::least, &T::greatest);
  }
};
std::string EncodeTotals(std::span<const OperatorTotal> totals);
// Returns false if the text is malformed.
bool DecodeTotals(std::string_view text, TotalsPage* page);

}  // namespace pitwall::history
