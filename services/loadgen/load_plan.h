// Plan of a load: its sizes, its faults, and losses on the way to the log.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"

namespace pitwall::loadgen {

inline constexpr int64_t kNever = INT64_MAX / 4;

enum class FaultKind : uint8_t {
  kStraggler,  // a rank computes `factor` times as long
  kStall,      // ranks wait for data for `share` of a step
  kHang,       // a rank stays in its forward phase
  kDeath,      // a rank's process ends by `signal`; its job's other ranks are torn down
  kNan,        // losses are NaN
  kGpuDrop,    // a GPU falls off the bus (XID 79), its rank dies ten seconds later
  kLeak,       // a rank's memory grows by `rate` of the node's memory an hour
};
std::string_view FaultName(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::kStraggler;
  int64_t job = 0;       // which one that runs at once, from 0; of its first life
  int64_t rank = -1;     // -1: all (stall, nan), else the plan chooses
  int64_t from_ns = -1;  // since the job's start; -1: from_step
  int64_t from_step = -1;
  int64_t for_ns = kNever;
  double factor = 1.6;
  double share = 0.6;
  double rate = 1.2;
  int64_t signal = 9;
  int64_t restart_ns = -1;  // death, gpu: the next attempt begins so long after; -1: none does
};

struct LoadPlan {
  uint64_t seed = 1;
  int64_t jobs = 1;   // at once
  int64_t nodes = 1;  // of a job
  int64_t gpus = 8;   // of a node
  int64_t cores = 96;
  int64_t ranks = -1;  // of a job; -1: one a GPU, without GPUs one a node
  int64_t start_ns = 0;
  int64_t duration_ns = 10 * 60 * kNanosPerSecond;
  int64_t step_ns = 400 * kNanosPerMilli;
  int64_t steps = kNever;  // a job ends after so many, or at the end of its time
  int64_t interval_ns = 500 * kNanosPerMilli;
  int64_t logged_metrics = 3;  // values beside the loss that a rank logs each step, up to 100
  int64_t life_ns = kNever;    // mean time until a job ends and another takes its place
  int64_t node_memory_bytes = int64_t{1} << 40;
  std::string name = "load";
  std::vector<Fault> faults;

  // Shares of the batches, in [0, 1].
  double late = 0;        // it and all that follows of its source come up to late_by_ns later
  double dropped = 0;     // never comes
  double duplicated = 0;  // comes twice
  double reordered = 0;   // comes after the next one of its source
  int64_t late_by_ns = 3 * kNanosPerSecond;

  bool ticks = false;  // the owner's clock ticks too, for a log that only a backtest reads
  int64_t ranks_of_job() const { return ranks >= 0 ? ranks : nodes * (gpus > 0 ? gpus : 1); }
};

// InvalidArgument names the flag.
Status CheckPlan(const LoadPlan& plan);

// "straggler,rank=3,from=60s,for=2m,factor=1.6"; from=step:100 counts steps. InvalidArgument: what
// is wrong, and what there is.
StatusOr<Fault> ParseFault(std::string_view text);

// Gives each fault what it leaves open (rank, time), by the seed; adds `count` faults of random
// kinds, each in a job of its own.
Status CompleteFaults(int64_t count, LoadPlan* plan);

// What a planted fault must lead to with pack:default, and what it may lead to beside that.
struct Expected {
  std::string rule;
  std::vector<std::pair<std::string, std::string>> labels;
};
struct Expectation {
  std::vector<Expected> must;
  std::vector<std::string> may;  // rules
};

// A fault as it was planted.
struct Planted {
  Fault fault;
  std::string job;
  uint64_t attempt = 1;
  int64_t rank = -1;
  std::string node;  // "": all
  int64_t gpu = -1;
  int64_t from_ns = 0;
  int64_t to_ns = 0;  // 0: to the end of the job
  int64_t from_step = -1;
};
Expectation ExpectationOf(const Planted& planted, int64_t ranks);
// One line of JSON, without a line break (docs/loadgen.md).
std::string PlantedJson(const Planted& planted, int64_t ranks);

}  // namespace pitwall::loadgen
