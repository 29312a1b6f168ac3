#include "services/codec/steps/phase_states.h"

#include <algorithm>
#include <utility>

namespace pitwall::steps {

size_t PhaseStates::Write(int64_t promise_ns, int64_t floor_ns, bool repeat_schema, Batch* batch) {
  std::vector<PhaseChange> changes = TakeChanges(promise_ns, floor_ns);
  const size_t width = columns_.size();
  if (width == 0) return 0;
  // The oldest changes are dropped if there are too many, because the newest states matter most.
  const size_t fit = std::max<size_t>(1, options_.max_cells / width);
  const size_t dropped = changes.size() - std::min(changes.size(), fit);
  changes.erase(changes.begin(), changes.begin() + static_cast<ptrdiff_t>(dropped));
  const size_t frames_before = batch->frames.size();
  if (!changes.empty()) WriteChanges(changes, batch);
  // A new schema is announced with the first frames that use it.
  const bool used = batch->frames.size() > frames_before;
  if (repeat_schema || (used && columns_.changed())) {
    batch->schemas.push_back(columns_.schema());
    columns_.Announced();
  }
  return dropped;
}

std::vector<PhaseChange> PhaseStates::TakeChanges(int64_t promise_ns, int64_t floor_ns) {
  std::vector<PhaseChange> changes = timeline_.Take(std::max(floor_ns, last_state_ns_));
  DropShortLived(options_.min_state_ns, &emitted_phase_, &changes);
  const int64_t last = changes.empty() ? last_state_ns_ : changes.back().time_ns;
  if (promise_ns > last && promise_ns > floor_ns &&
      (last == INT64_MIN || promise_ns - last >= options_.repeat_ns)) {
    changes.push_back({promise_ns, timeline_.running()});
  }
  return changes;
}

void PhaseStates::WriteChanges(const std::vector<PhaseChange>& changes, Batch* batch) {
  const size_t width = columns_.size();
  last_state_ns_ = changes.back().time_ns;
  std::vector<Row> rows;
  rows.reserve(changes.size());
  for (const PhaseChange& change : changes) {
    Row row{change.time_ns, kNoStep, {}, {}};
    row.cells.reserve(width);
    for (size_t p = 0; p < width; ++p) {
      row.cells.emplace_back(static_cast<uint32_t>(p), static_cast<int>(p) == change.phase ? 1 : 0);
    }
    rows.push_back(std::move(row));
  }
  writer_.Write(std::move(rows), columns_.schema().id, width, std::max(options_.max_cells, width),
                batch);
}

}  // namespace pitwall::steps
