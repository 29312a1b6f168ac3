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
  kDeath,      // a rank's process ends by `signal`; the other ranks of its job are terminated
  kNan,        // losses are NaN
  kGpuDrop,    // a GPU falls off the bus (XID 79); its rank dies ten seconds later
  kLeak,       // a rank's memory grows by `rate` of the node's memory per hour
};
std::string_view FaultName(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::kStraggler;
  int64_t job = 0;       // index among concurrent jobs, from 0; in its first life
  int64_t rank = -1;     // -1: all ranks (stall, nan), otherwise the plan chooses one
  int64_t from_ns = -1;  // since the job's start; -1: from_step
  int64_t from_step = -1;
  int64_t for_ns = kNever;
  double factor = 1.6;
  double share = 0.6;
  double rate = 1.2;
  int64_t signal = 9;
  int64_t restart_ns = -1;  // death, gpu: delay of the next attempt; -1: there is none
};

struct LoadPlan {
  uint64_t seed = 1;
  int64_t jobs = 1;   // concurrent jobs
  int64_t nodes = 1;  // per job
  int64_t gpus = 8;   // per node
  int64_t cores = 96;
  int64_t ranks = -1;  // per job; -1: one per GPU, or one per node without GPUs
  int64_t start_ns = 0;
  int64_t duration_ns = 10 * 60 * kNanosPerSecond;
  int64_t step_ns = 400 * kNanosPerMilli;
  int64_t steps = kNever;  // number of steps of a job, unless its time ends earlier
  int64_t interval_ns = 500 * kNanosPerMilli;
  int64_t logged_metrics = 3;  // values besides the loss that a rank logs each step, up to 100
  int64_t life_ns = kNever;    // mean time until a job ends and another one replaces it
  int64_t node_memory_bytes = int64_t{1} << 40;
  std::string name = "load";
  std::vector<Fault> faults;

  // Shares of the batches, in [0, 1].
  double late = 0;     // the batch and all later ones of its source arrive up to late_by_ns later
  double dropped = 0;  // never arrives
  double duplicated = 0;  // arrives twice
  double reordered = 0;   // arrives after the next batch of its source
  int64_t late_by_ns = 3 * kNanosPerSecond;

  bool ticks = false;  // also write the owner's clock ticks, for a log that only a backtest reads
  int64_t ranks_of_job() const { return ranks >= 0 ? ranks : nodes * (gpus > 0 ? gpus : 1); }
};

// InvalidArgument names the flag.
Status CheckPlan(const LoadPlan& plan);

// Parses "straggler,rank=3,from=60s,for=2m,factor=1.6"; from=step:100 counts steps. InvalidArgument
// states the cause and the valid values.
StatusOr<Fault> ParseFault(std::string_view text);

// Sets the unset fields of each fault (rank, time) by the seed, and adds `count` faults of random
// kinds, each in its own job.
Status CompleteFaults(int64_t count, LoadPlan* plan);

// Issues that a planted fault must cause with pack:default, and further issues that it may cause.
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
