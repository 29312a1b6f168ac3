#include "services/collector/ranks/update_progress.h"

#include <algorithm>

#include "services/model/telemetry.h"

namespace pitwall::collector {

UpdateProgress::UpdateProgress(bool resends, const std::optional<ClientCursor>& known) {
  if (!known.has_value()) return;
  last_ = resends ? known->written : known->received;
  replayed_until_ = resends ? known->received : 0;
}

uint64_t UpdateProgress::Receive(uint64_t sequence) {
  const bool gap = last_ != 0 && sequence > last_ + 1;
  const uint64_t missed = gap ? sequence - last_ - 1 : 0;
  last_ = sequence;
  return missed;
}

uint64_t UpdateProgress::CountDropped(uint64_t total) {
  if (total <= dropped_) return 0;
  return total - std::exchange(dropped_, total);
}

void UpdateProgress::Hold(std::string_view mode, int64_t step) {
  if (step != kNoStep) held_.try_emplace({std::string(mode), step}, last_);
}

void UpdateProgress::ReleaseEnded(const steps::StepSeries& series) {
  std::erase_if(held_, [&series](const auto& entry) {
    return !series.Holds(entry.first.first, entry.first.second);
  });
}

void UpdateProgress::Describe(ClientCursor* cursor) const {
  cursor->received = std::max(last_, replayed_until_);
  cursor->written = last_;
  for (const auto& [step, first] : held_) cursor->written = std::min(cursor->written, first - 1);
}

}  // namespace pitwall::collector
