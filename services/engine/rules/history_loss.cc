#include "services/engine/rules/history_loss.h"

namespace pitwall::engine {

void HistoryLoss::Lose() {
  lost_ = attempt_lost_ = true;
  from_ = Position::Earliest();
}

void HistoryLoss::BeginTick(Position position) {
  if (lost_ && from_ == Position::Earliest()) from_ = position;
}

bool HistoryLoss::Affects(const Reach& reach, Position position) const {
  if (!lost_) return false;
  if (from_ == Position::Earliest() || (attempt_lost_ && reach.from_attempt)) return true;
  return position < from_ + reach.length;
}

void HistoryLoss::Save(BinaryWriter& out) const {
  out.Bool(lost_);
  out.Bool(attempt_lost_);
  out.I64(from_.ns());
}

void HistoryLoss::Restore(BinaryReader& in) {
  lost_ = in.Bool();
  attempt_lost_ = in.Bool();
  from_ = Position::FromNs(in.I64());
}

}  // namespace pitwall::engine
