// The part of a window that is in memory: rows as they arrived.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/insights/keep/window_rows.h"

namespace pitwall::insights {

// Not thread-safe.
class HeadWindow {
 public:
  // Rows [from, to) of the frame. Its values must have as many columns as the schema.
  void AddRows(const OriginPtr& origin, const SharedSchema& schema, const Frame& frame, size_t from,
               size_t to, uint64_t sequence);
  void AddSpan(const OriginPtr& origin, const Span& span, uint64_t sequence);
  void AddBeat(Beat beat);

  // Appends tables with the wanted columns, sorted; none of a schema without any.
  Status Read(SeriesSet* set, std::vector<RowTable>* out) const;
  const std::vector<KeptSpan>& spans() const { return spans_; }
  const std::vector<Beat>& beats() const { return beats_; }
  const ModeNames& modes() const { return modes_; }
  size_t bytes() const { return bytes_; }
  uint64_t samples() const { return samples_; }  // that came; without missing ones
  int64_t least_start_ns() const { return least_start_ns_; }

 private:
  // Values row by row, as frames bring them.
  struct Table {
    OriginPtr origin;
    SharedSchema schema;
    std::vector<int64_t> times, sequences, steps, modes;
    std::vector<double> cells;
  };
  absl::flat_hash_map<std::pair<const Origin*, uint64_t>, std::unique_ptr<Table>> index_;
  std::vector<Table*> tables_;  // in the order of their first rows
  std::vector<KeptSpan> spans_;
  std::vector<Beat> beats_;
  ModeNames modes_;
  size_t bytes_ = 1024;
  uint64_t samples_ = 0;
  int64_t least_start_ns_ = INT64_MAX;
};

}  // namespace pitwall::insights
