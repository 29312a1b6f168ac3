#include "services/loadgen/training.h"

#include <algorithm>

#include "services/loadgen/noise.h"

namespace pitwall::loadgen {
namespace {

// Parts of a step as fractions: the three phases of the rank's own work, the transfer, and the
// optimizer.
constexpr std::array<double, 3> kOwnShares = {0.03, 0.25, 0.47};
constexpr double kTransferShare = 0.08;
constexpr double kOptimizerShare = 0.17;
constexpr double kScatter = 0.01;          // relative standard deviation of a phase's duration
constexpr int64_t kBetweenSteps = 20'000;  // in nanoseconds
constexpr int64_t kGpuDeathNs = 10 * kNanosPerSecond;

int64_t Scaled(int64_t ns, double factor) {
  return static_cast<int64_t>(static_cast<double>(ns) * factor);
}

bool Ends(FaultKind kind) { return kind == FaultKind::kDeath || kind == FaultKind::kGpuDrop; }

}  // namespace

Training::Training(const LoadPlan& plan, uint64_t seed, int64_t start_ns, std::span<Planted> faults)
    : plan_(plan),
      seed_(seed),
      ranks_(static_cast<size_t>(plan.ranks_of_job())),
      faults_(faults),
      cursors_(ranks_, 0),
      ready_ns_(ranks_, start_ns),
      behind_(ranks_) {}

const RankStep* Training::Peek(int64_t rank, int64_t until_ns) {
  const int64_t step = cursors_[static_cast<size_t>(rank)];
  while (step >= next_step_) {
    if (finished_ns_.has_value() || still_from_ns_ != kNever) return nullptr;
    if (*std::min_element(ready_ns_.begin(), ready_ns_.end()) >= until_ns) return nullptr;
    MakeStep();
  }
  const RankStep& found =
      steps_[static_cast<size_t>(step - first_kept_)][static_cast<size_t>(rank)];
  return found.start_ns < until_ns ? &found : nullptr;
}

void Training::Pop(int64_t rank) {
  const int64_t step = cursors_[static_cast<size_t>(rank)]++;
  if (step != first_kept_ || --behind_ > 0) return;
  // All ranks have passed the first kept step, so it is discarded.
  do {
    steps_.pop_front();
    ++first_kept_;
    behind_ = static_cast<size_t>(std::count(cursors_.begin(), cursors_.end(), first_kept_));
  } while (behind_ == 0 && first_kept_ < next_step_);
}

void Training::MakeStep() {
  if (next_step_ >= plan_.steps) {
    finished_ns_ = *std::max_element(ready_ns_.begin(), ready_ns_.end());
    return;
  }
  std::vector<RankStep> ranks(ranks_);
  const int64_t start = *std::max_element(ready_ns_.begin(), ready_ns_.end());
  Begin(start + plan_.step_ns);
  for (size_t r = 0; r < ranks_; ++r) {
    RankStep& rank = ranks[r];
    rank.start_ns = ready_ns_[r];
    int64_t at = rank.start_ns;
    for (size_t p = 0; p < kOwnShares.size(); ++p) {
      const uint64_t bits = Mix(seed_, static_cast<uint64_t>(next_step_), r * 8 + p);
      at += Scaled(plan_.step_ns, kOwnShares[p] * (1 + kScatter * Bell(bits)));
      rank.ends_ns[p] = at;
    }
  }
  Apply(&ranks);
  Meet(&ranks);
  steps_.push_back(std::move(ranks));
  if (next_step_ == first_kept_)
    behind_ = static_cast<size_t>(std::count(cursors_.begin(), cursors_.end(), first_kept_));
  ++next_step_;
}

// Fills in the unset fields of faults that start within this step.
void Training::Begin(int64_t nominal_end_ns) {
  const int64_t start = nominal_end_ns - plan_.step_ns;
  for (Planted& planted : faults_) {
    if (planted.from_ns == 0 && planted.fault.from_step == next_step_)
      planted.from_ns = start + plan_.step_ns / 10;
    if (planted.from_ns == 0 || planted.from_step >= 0 || planted.from_ns >= nominal_end_ns)
      continue;
    planted.from_step = next_step_;
    if (planted.fault.for_ns != kNever) planted.to_ns = planted.from_ns + planted.fault.for_ns;
  }
}

void Training::Apply(std::vector<RankStep>* ranks) {
  const auto longer = [&](size_t r, size_t phase, int64_t by) {
    for (size_t p = phase; p < kOwnShares.size(); ++p) (*ranks)[r].ends_ns[p] += by;
  };
  for (const Planted& planted : faults_) {
    if (planted.from_step < 0 || planted.from_step > next_step_) continue;
    const size_t first = planted.rank < 0 ? 0 : static_cast<size_t>(planted.rank);
    const size_t last = planted.rank < 0 ? ranks_ : first + 1;
    for (size_t r = first; r < last; ++r) {
      RankStep& rank = (*ranks)[r];
      if (planted.to_ns > 0 && rank.start_ns >= planted.to_ns) continue;
      switch (planted.fault.kind) {
        case FaultKind::kStraggler:
          for (size_t p = 1; p < kOwnShares.size(); ++p)
            longer(r, p, Scaled(plan_.step_ns, kOwnShares[p] * (planted.fault.factor - 1)));
          break;
        case FaultKind::kStall:
          longer(r, 0, Scaled(plan_.step_ns, planted.fault.share / (1 - planted.fault.share)));
          break;
        case FaultKind::kHang:
          if (planted.from_step != next_step_) break;
          if (planted.fault.for_ns == kNever) {
            rank.ends_ns[1] = rank.ends_ns[2] = kNever;
            still_from_ns_ = planted.from_ns;
          } else {
            longer(r, 1, planted.fault.for_ns);
          }
          break;
        case FaultKind::kNan:
          rank.nan = true;
          break;
        case FaultKind::kLeak:  // the fault affects only the node's series
        case FaultKind::kDeath:
        case FaultKind::kGpuDrop:
          break;
      }
    }
    if (!Ends(planted.fault.kind) || died_ns_.has_value()) continue;
    const int64_t at =
        planted.from_ns + (planted.fault.kind == FaultKind::kGpuDrop ? kGpuDeathNs : 0);
    RankStep& rank = (*ranks)[first];
    if (at >= rank.ends_ns[2]) continue;  // the rank dies in a later step
    for (size_t p = 0; p < kOwnShares.size(); ++p) {
      if (rank.ends_ns[p] > at) rank.ends_ns[p] = kNever;
    }
    died_ns_ = at;
    dead_rank_ = planted.rank;
    dead_signal_ = planted.fault.kind == FaultKind::kGpuDrop ? 6 : planted.fault.signal;
    restart_ns_ = planted.fault.restart_ns;
    still_from_ns_ = at;
  }
}

// The collective ends once the last rank has arrived and the transfer is complete.
void Training::Meet(std::vector<RankStep>* ranks) {
  int64_t last = 0;
  for (const RankStep& rank : *ranks) last = std::max(last, rank.ends_ns[2]);
  const int64_t met = last >= kNever ? kNever : last + Scaled(plan_.step_ns, kTransferShare);
  for (size_t r = 0; r < ranks_; ++r) {
    RankStep& rank = (*ranks)[r];
    const uint64_t bits = Mix(seed_, static_cast<uint64_t>(next_step_), r * 8 + 4);
    rank.ends_ns[3] = met;
    rank.ends_ns[4] =
        met >= kNever ? kNever
                      : met + Scaled(plan_.step_ns, kOptimizerShare * (1 + kScatter * Bell(bits)));
    ready_ns_[r] = met >= kNever ? kNever : rank.ends_ns[4] + kBetweenSteps;
  }
}

}  // namespace pitwall::loadgen
