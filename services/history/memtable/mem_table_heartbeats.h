// Heartbeats of an unsealed window. A source sends thousands of heartbeats that differ only in
// their promise and sequence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/history/windows/window_rows.h"

namespace pitwall::history {

// Compact list of heartbeats. Not thread-safe. A list has at most 2^32 distinct heartbeats,
// ignoring promise and sequence.
class MemTableHeartbeats {
 public:
  void Add(const Heartbeat& beat);
  // Appends the heartbeats in insertion order.
  void AppendTo(std::vector<Heartbeat>* out) const;
  size_t bytes() const { return rows_.capacity() * sizeof(Row) + kinds_.size() * kKindBytes; }

 private:
  static constexpr size_t kKindBytes = sizeof(Heartbeat) + 64;
  struct Row {
    int64_t promise_ns, sequence;
    uint32_t kind;
  };
  std::vector<Row> rows_;
  std::vector<Heartbeat> kinds_;  // distinct heartbeats, ignoring promise and sequence
  absl::flat_hash_map<std::tuple<const Origin*, int64_t, bool>, uint32_t> index_;
};

}  // namespace pitwall::history
