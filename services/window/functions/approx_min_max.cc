#include "services/window/functions/approx_min_max.h"

#include <algorithm>
#include <cmath>

#include "services/model/position.h"

namespace pitwall::window {

void NearGreatest::Push(PaneIndex pane, double value) {
  if (std::isnan(value)) return;
  Candidate added{pane, value, value};
  while (!candidates_.empty() && candidates_.back().value <= value) candidates_.pop_back();
  if (!candidates_.empty()) {
    const Candidate& last = candidates_.back();
    // An infinity is never close to another value, because the difference is infinite or NaN.
    if (last.greatest - value <=
            kExtremeSlack * std::min(std::fabs(value), std::fabs(last.greatest)) &&
        std::signbit(value) == std::signbit(last.greatest)) {
      added.greatest = last.greatest;
      candidates_.pop_back();
    }
  }
  candidates_.push_back(added);
}

void NearGreatest::DropBefore(PaneIndex pane) {
  while (!candidates_.empty() && candidates_.front().pane < pane) candidates_.pop_front();
}

void NearGreatest::KeepGreatest() {
  while (candidates_.size() > 1) candidates_.pop_back();
}

void NearGreatest::Save(BinaryWriter& out) const {
  out.U64(candidates_.size());
  for (const Candidate& candidate : candidates_) {
    out.I64(candidate.pane.value());
    out.Double(candidate.value);
    out.Double(candidate.greatest);
  }
}

void NearGreatest::Load(BinaryReader& in) {
  candidates_.clear();
  for (size_t n = in.Count(17); n > 0 && in.ok(); --n) {
    Candidate candidate;
    candidate.pane = PaneIndex(in.I64());
    candidate.value = in.Double();
    candidate.greatest = in.Double();
    const bool ordered = candidates_.empty() || (candidates_.back().pane <= candidate.pane &&
                                                 candidates_.back().value > candidate.value);
    if (!ordered || !(candidate.value <= candidate.greatest) ||
        candidate.pane.value() < kMinPosition || candidate.pane.value() > kMaxPosition) {
      in.Fail();
      return;
    }
    candidates_.push_back(candidate);
  }
}

double ApproxMinMax::Clamp(double value) const {
  if (greatest_.empty() || std::isnan(value)) return value;
  return std::clamp(value, -negated_.value(), greatest_.value());
}

}  // namespace pitwall::window
