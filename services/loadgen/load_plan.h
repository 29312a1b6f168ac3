// Plan for a simulated load: its size, its faults, and the fractions of batches that are lost,
// delayed, or duplicated on the way to the log.
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
  kStraggler,  // a rank's computation takes `factor` times as long
  kStall,      // ranks wait for data for `share` of a step
  kHang,       // a rank never leaves its forward phase
  kDeath,      // `signal` kills a rank's process, and the job's other ranks are terminated
  kNan,        // logged losses are NaN
  kGpuDrop,    // a GPU falls off the bus (XID 79); its rank dies ten seconds later
  kLeak,       // a rank's memory grows by `rate` of the node's memory per hour
};
std::string_view FaultName(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::kStraggler;
  // Slot index among the concurrent jobs, starting at 0. The fault applies to the first job in this
  // slot.
  int64_t job = 0;
  int64_t rank = -1;     // -1: all ranks (stall, nan), or a rank that the plan chooses
  int64_t from_ns = -1;  // relative to the job's start; -1: use from_step
  int64_t from_step = -1;
  int64_t for_ns = kNever;
  double factor = 1.6;
  double share = 0.6;
  double rate = 1.2;
  int64_t signal = 9;
  int64_t restart_ns = -1;  // for death and gpu: delay until the next attempt; -1: no next attempt
};

// Faults in the delivery of batches to the log: the fraction of batches affected by each fault, in
// [0, 1]. The plan's seed and the batch determine whether a batch is affected.
struct DeliveryFaults {
  double late = 0;     // this and all later batches of the source are delayed by up to late_by_ns
  double dropped = 0;  // the batch never arrives
  double duplicated = 0;  // the batch arrives twice
  double reordered = 0;   // the batch arrives after the next batch of its source
  int64_t late_by_ns = 3 * kNanosPerSecond;

  // Returns InvalidArgument if a fraction is out of range. The error names the flag.
  Status Check() const;
};

struct LoadPlan {
  uint64_t seed = 1;
  int64_t jobs = 1;   // number of concurrent jobs
  int64_t nodes = 1;  // nodes per job
  int64_t gpus = 8;   // GPUs per node
  int64_t cores = 96;
  int64_t ranks = -1;  // ranks per job; -1: one per GPU, or one per node without GPUs
  int64_t start_ns = 0;
  int64_t duration_ns = 10 * 60 * kNanosPerSecond;
  int64_t step_ns = 400 * kNanosPerMilli;
  int64_t steps = kNever;  // maximum steps per job
  int64_t interval_ns = 500 * kNanosPerMilli;
  int64_t logged_metrics = 3;  // metrics besides the loss that a rank logs per step, up to 100
  int64_t life_ns = kNever;    // mean lifetime of a job before another job replaces it
  int64_t node_memory_bytes = int64_t{1} << 40;
  std::string name = "load";
  std::vector<Fault> faults;
  DeliveryFaults delivery;
  // If true, the load also writes the clock ticks that the partition owner would write. Only
  // backtests may read such a log.
  bool ticks = false;
  int64_t ranks_of_job() const { return ranks >= 0 ? ranks : nodes * (gpus > 0 ? gpus : 1); }
};

// Validates the plan. An InvalidArgument error names the flag.
Status CheckPlan(const LoadPlan& plan);

// Parses a fault such as "straggler,rank=3,from=60s,for=2m,factor=1.6". With from=step:100, the
// fault starts at a step instead of a time. An InvalidArgument error states the cause and the valid
// values.
StatusOr<Fault> ParseFault(std::string_view text);

// Fills in the unset fields of each fault (rank, time) with values derived from the seed, and adds
// `count` faults of random kinds, each in a different job.
Status CompleteFaults(int64_t count, LoadPlan* plan);

// Issues that an injected fault must cause with pack:default, and issues that it may also cause.
struct Expected {
  std::string rule;
  std::vector<std::pair<std::string, std::string>> labels;
};
struct Expectation {
  std::vector<Expected> must;
  std::vector<std::string> may;  // rule names
};

// Injected fault.
struct Planted {
  Fault fault;
  std::string job;
  uint64_t attempt = 1;
  int64_t rank = -1;
  std::string node;  // "": all nodes
  int64_t gpu = -1;
  int64_t from_ns = 0;
  int64_t to_ns = 0;  // 0: until the end of the job
  int64_t from_step = -1;
};
Expectation ExpectationOf(const Planted& planted, int64_t ranks);
// Formats the fault as one line of JSON without the line break (docs/loadgen.md).
std::string PlantedJson(const Planted& planted, int64_t ranks);

}  // namespace pitwall::loadgen
