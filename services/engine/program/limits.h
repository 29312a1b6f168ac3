// All limits and timeouts in the engine, with the reasons for their values. time-model.md describes
// the rules that use them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "services/base/time.h"

namespace pitwall::engine {

class RecordingObserver;  // defined in services/engine/domain/recordings.h

// Memory limits: data above a limit is dropped and counted with a reason, or sets a rule's status
// to Error. Exceeding a limit never causes a crash. Timeouts are measured in ticks or event time
// (time-model.md, section 2).
struct EngineOptions {
  // Limits for one partition.
  struct Partition {
    uint32_t max_jobs = 10'000;  // maximum number of running jobs
    // Maximum number of ended jobs. Above the limit, the job that ended first is evicted.
    uint32_t max_tombstones = 10'000;
    // Limit per known owner. Prevents one owner from displacing the others.
    uint32_t max_jobs_per_owner = 5'000;
    uint32_t max_tombstones_per_owner = 5'000;
  } partition;
  // Limits for one source.
  struct Source {
    size_t max_schemas = 64;          // the least recently used schema is evicted for a new one
    size_t max_waiting_frames = 256;  // frames that wait for an unknown schema
    size_t max_modes = 64;            // number of step modes
    size_t max_mode_bytes = 128;      // length of a mode name
    size_t max_ended_boots = 4;       // boots whose sequence numbers are kept
  } source;
  // Timeouts that determine which sources hold back the watermark.
  struct Liveness {
    Duration idle_after = Duration::Seconds(5);
    Duration foreign_lateness = Duration::Seconds(15);
    Duration foreign_unknown_interval = Duration::Seconds(60);
    Duration clock_ahead = Duration::Seconds(60);
    Duration clock_behind = Duration::Seconds(60);
  } liveness;
  // Timeouts that determine when a job is over.
  struct Ends {
    Duration silence = Duration::Minutes(30);
    // Event time that a job with a dead attempt waits for a restart.
    Duration restart_grace = Duration::Seconds(120);
    Duration tombstone = Duration::Days(7);
  } ends;
  // Repetition intervals in event time.
  struct Intervals {
    // Interval of the engine's own series (time-model.md 1.2).
    Duration own_series_repeat = Duration::Seconds(15);
    // Interval between removals of series outside all windows.
    Duration expiry = Duration::Seconds(60);
    // Interval between time-clock updates to the status and needs of step rules (time-model.md,
    // section 3).
    Duration step_status = Duration::Seconds(5);
  } intervals;

  uint32_t max_sources_per_job = 20'000;
  uint32_t max_series_per_job = 200'000;
  // Limit on a job's input that cannot be applied yet (services/engine/sources/pending_bytes.h).
  // Half is for data that waits for the watermark, including schemas and sources. Each clock gets a
  // quarter for rows that wait for a tick or a promised step. The processor sets the limit from
  // processor.job_memory.
  size_t max_job_bytes = size_t{1} << 30;
  size_t max_separate_clocks_per_mode = 16;  // separate clocks for ranks that fell behind
  size_t max_withheld_per_job = 4'096;       // metrics withheld by collectors
  size_t max_labels_per_job = 64;            // later labels are ignored
  size_t max_step_times = 65'536;            // steps with a known event time
  // Maximum number of open and recently ended issues that incidents track. Above the limit, a new
  // issue is its own incident without a root cause, and is counted. A thousand nodes with four
  // issues each use a few MB.
  size_t max_tracked_issues_per_job = 4'096;

  // In 8-byte cells, the unit of the stores' limits.
  size_t open_cells_per_clock() const { return max_job_bytes / 4 / 8; }

  // Maximum time that a frame waits for its schema: the repetition interval of descriptors (5 s)
  // plus the lateness.
  Duration schema_wait = Duration::Seconds(20);
  // Issues with onsets within this time of each other belong to one incident. An ended issue may
  // also be the cause of an issue found within this time after its end.
  // docs/decisions/0012-group-issues-into-incidents.md explains the two minutes.
  Duration incident_window = Duration::Seconds(120);
  // Default interval for rule groups that do not set one.
  Duration evaluation_interval = Duration::Seconds(60);

  // False for inputs that have already been merged by time (backtests of foreign formats). If
  // false, promises do not advance the watermark, and samples ahead of the append time are not
  // rejected.
  bool check_append_time = true;
  // Receives the samples of recording rules; may be null. Borrowed.
  RecordingObserver* recordings = nullptr;
};

}  // namespace pitwall::engine
