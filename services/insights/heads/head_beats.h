// Beats of a window that is not sealed. A source sends thousands that differ in two numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/insights/windows/window_rows.h"

namespace pitwall::insights {

// Not thread-safe. At most 2^32 kinds of beats.
class HeadBeats {
 public:
  void Add(const Beat& beat);
  // In the order in which they were added.
  void AppendTo(std::vector<Beat>* out) const;
  size_t bytes() const { return rows_.capacity() * sizeof(Row) + kinds_.size() * kKindBytes; }

 private:
  static constexpr size_t kKindBytes = sizeof(Beat) + 64;
  struct Row {
    int64_t promise_ns, sequence;
    uint32_t kind;
  };
  std::vector<Row> rows_;
  std::vector<Beat> kinds_;  // beats that are equal but for those two numbers
  absl::flat_hash_map<std::tuple<const Origin*, int64_t, bool>, uint32_t> index_;
};

}  // namespace pitwall::insights
