// Options for a partition's owner, and the fixes suggested in its error messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "services/base/system/memory_budget.h"
#include "services/base/time.h"
#include "services/codec/snapshot_codec.h"
#include "services/engine/program/limits.h"

namespace pitwall::processor {

struct PartitionOptions {
  std::string group = "pitwall-processor";
  Duration commit_interval = Duration::Seconds(1);
  Duration snapshot_interval = Duration::Minutes(1);  // measured in log time
  size_t snapshots_per_round = 64;
  Duration tick_interval = Duration::Seconds(1);
  Duration max_tick = Duration::Seconds(2);
  Duration outage_grace = Duration::Seconds(15);
  // Maximum interval between commits for a partition without records. Commits continue while clock
  // ticks are paused, so the age of the last commit shows whether the log accepts records.
  Duration idle_commit_interval = Duration::Seconds(5);
  // If false, the processor does not write clock ticks because the log already contains them
  // (replay of a recorded log, tests).
  bool clock_ticks = true;
  size_t poll_records = 2000;
  size_t poll_bytes = 8 << 20;
  codec::SnapshotLimits snapshot_limits;
  // If true, the processor accepts a truncated or replaced log once: it drops the state and ends
  // open issues.
  bool accept_log_reset = false;
  // Name that identifies this owner to other processors (host, process, start time). Must not
  // contain ';'. "" means unknown.
  std::string owner;
  // Memory budget of the process. Not owned; may be null. While the budget is exhausted, the
  // partition neither reads records nor writes clock ticks. This delays events but does not change
  // them.
  MemoryBudget* memory = nullptr;
  engine::EngineOptions engine;
};

// Suggested fix if the log does not match the last commit.
inline constexpr std::string_view kAcceptReset =
    "restore the log, or start once with --accept-log-reset, which drops the state of the "
    "partition, ends open issues, and continues with the existing log";

// Suggested fix if the state cannot be restored.
inline constexpr std::string_view kDropState =
    "start once with --accept-log-reset, which drops the state of the partition, ends open issues, "
    "and continues with the existing log";

}  // namespace pitwall::processor
