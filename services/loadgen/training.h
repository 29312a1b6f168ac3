// Steps of one attempt of a job: the ends of all phases of each rank, and the logged values.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "services/loadgen/load_plan.h"

namespace pitwall::loadgen {

// Phases of a step in order. A rank waits for all others in `collective`.
inline constexpr std::array<std::string_view, 5> kPhases = {"dataloader", "forward", "backward",
                                                            "collective", "optimizer"};

struct RankStep {
  int64_t start_ns = 0;
  std::array<int64_t, kPhases.size()> ends_ns{};  // kNever: it does not end
  bool nan = false;
  int64_t end_ns() const { return ends_ns.back(); }
};

// Synchronous training: no rank leaves the collective of a step before all have reached it. Each
// rank reads its steps independently; steps that all have read are discarded. Not thread-safe.
class Training {
 public:
  // `faults`: those of this attempt, with absolute times (from_ns) or steps. Borrowed and
  // completed: a fault that began by step receives its time, and one that began by time its step.
  Training(const LoadPlan& plan, uint64_t seed, int64_t start_ns, std::span<Planted> faults);

  // The rank's next step, complete or not; null if it begins at or after `until_ns` or there is no
  // further step. Valid until the next call.
  const RankStep* Peek(int64_t rank, int64_t until_ns);
  void Pop(int64_t rank);
  int64_t NextStep(int64_t rank) const { return cursors_[static_cast<size_t>(rank)]; }

  // The end of the dying rank's process; nullopt until one has died.
  std::optional<int64_t> died_ns() const { return died_ns_; }
  int64_t dead_rank() const { return dead_rank_; }
  int64_t dead_signal() const { return dead_signal_; }
  int64_t restart_ns() const { return restart_ns_; }  // after the death; -1: never
  // The time at which the job has completed all of its steps.
  std::optional<int64_t> finished_ns() const { return finished_ns_; }
  // Whether the job is stalled at that time, as far as the generated steps show.
  bool stands_still(int64_t at_ns) const { return at_ns >= still_from_ns_; }

 private:
  void MakeStep();
  void Begin(int64_t nominal_end_ns);
  void Apply(std::vector<RankStep>* ranks);
  void Meet(std::vector<RankStep>* ranks);

  const LoadPlan& plan_;
  const uint64_t seed_;
  const size_t ranks_;
  const std::span<Planted> faults_;
  int64_t next_step_ = 0;   // next step to generate
  int64_t first_kept_ = 0;  // first step in steps_
  std::deque<std::vector<RankStep>> steps_;
  std::vector<int64_t> cursors_;   // by rank: the next step to read
  std::vector<int64_t> ready_ns_;  // by rank: the beginning of its next step
  size_t behind_ = 0;              // ranks whose cursor is at first_kept_
  int64_t still_from_ns_ = kNever;
  std::optional<int64_t> died_ns_;
  int64_t dead_rank_ = -1;
  int64_t dead_signal_ = 9;
  int64_t restart_ns_ = -1;
  std::optional<int64_t> finished_ns_;
};

}  // namespace pitwall::loadgen
