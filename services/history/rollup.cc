#include "services/history/rollup.h"

#include <cmath>

#include "services/model/value.h"

namespace pitwall::history {
namespace {

int64_t StartOf(int64_t time_ns, int64_t length_ns) { return time_ns - time_ns % length_ns; }

// The result is NaN only if both values are NaN.
double Least(double a, double b) { return std::isnan(a) || b < a ? b : a; }
double Greatest(double a, double b) { return std::isnan(a) || b > a ? b : a; }

}  // namespace

void MergeInto(RollupRow* row, const RollupRow& later) {
  row->min = Least(row->min, later.min);
  row->max = Greatest(row->max, later.max);
  row->sum += later.sum;
  row->last = later.last;
  row->count += later.count;
}

bool Rollup::Add(int64_t time_ns, double value, Rows* done) {
  if (time_ns <= newest_ns_) return false;
  newest_ns_ = time_ns;
  if (IsMissing(value)) return true;
  Close(time_ns, done);
  const RollupRow sample = {StartOf(time_ns, kTiers[0]), value, value, value, value, 1};
  if (open_[0].has_value()) {
    MergeInto(&*open_[0], sample);
  } else {
    open_[0] = sample;
  }
  return true;
}

void Rollup::Close(int64_t time_ns, Rows* done) {
  for (size_t tier = 0; tier < kTiers.size(); ++tier) {
    if (open_[tier].has_value() && open_[tier]->start_ns <= time_ns - kTiers[tier]) {
      Finish(tier, done);
    }
  }
}

void Rollup::Finish(size_t tier, Rows* done) {
  const RollupRow row = *open_[tier];
  open_[tier].reset();
  (*done)[tier].push_back(row);
  if (tier + 1 == kTiers.size()) return;
  std::optional<RollupRow>& next = open_[tier + 1];
  const int64_t start_ns = StartOf(row.start_ns, kTiers[tier + 1]);
  if (next.has_value() && next->start_ns != start_ns) Finish(tier + 1, done);
  if (next.has_value()) {
    MergeInto(&*next, row);
  } else {
    next = row;
    next->start_ns = start_ns;
  }
}

std::array<std::optional<RollupRow>, kTiers.size()> Rollup::Open() const {
  auto open = open_;
  for (size_t tier = 0; tier + 1 < kTiers.size(); ++tier) {
    if (!open[tier].has_value()) continue;
    // After Close, a coarser row cannot end before a finer row starts.
    if (open[tier + 1].has_value()) {
      MergeInto(&*open[tier + 1], *open[tier]);
    } else {
      open[tier + 1] = open[tier];
      open[tier + 1]->start_ns = StartOf(open[tier]->start_ns, kTiers[tier + 1]);
    }
  }
  return open;
}

int64_t Rollup::open_from_ns() const {
  int64_t from = INT64_MAX;
  for (const auto& row : open_) {
    if (row.has_value() && row->start_ns < from) from = row->start_ns;
  }
  return from;
}

}  // namespace pitwall::history
