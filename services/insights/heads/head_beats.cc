#include "services/insights/heads/head_beats.h"

#include "services/insights/windows/slow_growth.h"

namespace pitwall::insights {

void HeadBeats::Add(const Beat& beat) {
  const auto [at, added] = index_.try_emplace({beat.origin.get(), beat.idle_ns, beat.goodbye},
                                              static_cast<uint32_t>(kinds_.size()));
  if (added) kinds_.push_back(beat);
  ReserveFor(&rows_, 1, 4);
  rows_.push_back({beat.promise_ns, beat.sequence, at->second});
}

void HeadBeats::AppendTo(std::vector<Beat>* out) const {
  out->reserve(out->size() + rows_.size());
  for (const Row& row : rows_) {
    Beat& beat = out->emplace_back(kinds_[row.kind]);
    beat.promise_ns = row.promise_ns;
    beat.sequence = row.sequence;
  }
}

}  // namespace pitwall::insights
