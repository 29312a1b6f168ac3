// Steps in one attempt of a job: the end times of each rank's phases, and whether the losses are
// NaN.
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

// Phases of a step, in order. In `collective`, each rank waits for all other ranks.
inline constexpr std::array<std::string_view, 5> kPhases = {"dataloader", "forward", "backward",
                                                            "collective", "optimizer"};

struct RankStep {
  int64_t start_ns = 0;
  std::array<int64_t, kPhases.size()> ends_ns{};  // kNever if the phase never ends
  bool nan = false;
  int64_t end_ns() const { return ends_ns.back(); }
};

// Simulates synchronous training: a rank leaves a step's collective only after all ranks have
// reached it. Each rank's steps are read independently. A step is discarded after it has been read
// for all ranks. Not thread-safe.
class Training {
 public:
  // `faults` are the faults of this attempt, with absolute start times (from_ns) or start steps.
  // They must outlive this object. Training fills in the missing field: a fault defined by its
  // start step gets a time, and a fault defined by its start time gets a step.
  Training(const LoadPlan& plan, uint64_t seed, int64_t start_ns, std::span<Planted> faults);

  // Returns the rank's next step, which may be incomplete. Returns null if the step starts at or
  // after `until_ns`, or if there are no more steps. The returned pointer is valid until the next
  // call.
  const RankStep* Peek(int64_t rank, int64_t until_ns);
  void Pop(int64_t rank);
  int64_t NextStep(int64_t rank) const { return cursors_[static_cast<size_t>(rank)]; }

  // Returns the time at which the dead rank's process ended, or nullopt if no rank has died yet.
  std::optional<int64_t> died_ns() const { return died_ns_; }
  int64_t dead_rank() const { return dead_rank_; }
  int64_t dead_signal() const { return dead_signal_; }
  int64_t restart_ns() const { return restart_ns_; }  // delay after the death; -1: no restart
  // Returns the time at which the job completed all of its steps, or nullopt if it has not
  // completed them.
  std::optional<int64_t> finished_ns() const { return finished_ns_; }
  // Returns true if the job is stalled at the given time, according to the steps generated so far.
  bool is_stalled(int64_t at_ns) const { return at_ns >= still_from_ns_; }

 private:
  void MakeStep();
  void Begin(int64_t nominal_end_ns);
  void Apply(std::vector<RankStep>* ranks);
  void Meet(std::vector<RankStep>* ranks);

  const LoadPlan& plan_;
  const uint64_t seed_;
  const size_t ranks_;
  const std::span<Planted> faults_;
  int64_t next_step_ = 0;   // number of the next step that will be generated
  int64_t first_kept_ = 0;  // number of the first step that steps_ contains
  std::deque<std::vector<RankStep>> steps_;
  std::vector<int64_t> cursors_;   // number of each rank's next step to read
  std::vector<int64_t> ready_ns_;  // start time of each rank's next step
  size_t behind_ = 0;              // number of ranks whose cursor is at first_kept_
  int64_t still_from_ns_ = kNever;
  std::optional<int64_t> died_ns_;
  int64_t dead_rank_ = -1;
  int64_t dead_signal_ = 9;
  int64_t restart_ns_ = -1;
  std::optional<int64_t> finished_ns_;
};

}  // namespace pitwall::loadgen
