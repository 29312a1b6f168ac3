#include "services/history/memtable/mem_table_heartbeats.h"

#include "services/history/windows/bounded_growth_vector.h"

namespace pitwall::history {

void MemTableHeartbeats::Add(const Heartbeat& beat) {
  const auto [at, added] = index_.try_emplace({beat.origin.get(), beat.idle_ns, beat.goodbye},
                                              static_cast<uint32_t>(kinds_.size()));
  if (added) kinds_.push_back(beat);
  ReserveFor(&rows_, 1, 4);
  rows_.push_back({beat.promise_ns, beat.sequence, at->second});
}

void MemTableHeartbeats::AppendTo(std::vector<Heartbeat>* out) const {
  out->reserve(out->size() + rows_.size());
  for (const Row& row : rows_) {
    Heartbeat& beat = out->emplace_back(kinds_[row.kind]);
    beat.promise_ns = row.promise_ns;
    beat.sequence = row.sequence;
  }
}

}  // namespace pitwall::history
