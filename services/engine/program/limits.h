// All limits and timeouts of the engine, with their reasons. time-model.md describes their rules.
#pragma once

#include <cstddef>
#include <cstdint>

#include "services/base/clock.h"

namespace pitwall::engine {

class RecordingObserver;  // services/engine/domain/recordings.h

// Memory: crossing a limit is a counted drop with a reason, or a rule's Error status, never a
// crash. Times: nanoseconds of ticks or of event time (time-model.md, section 2).
struct EngineOptions {
  // Of one partition.
  struct Partition {
    uint32_t max_jobs = 10'000;  // that run
    // Jobs that have ended; beyond it the one that ended first is forgotten.
    uint32_t max_tombstones = 10'000;
    // Of one known owner, who thus cannot shut out the others.
    uint32_t max_jobs_per_owner = 5'000;
    uint32_t max_tombstones_per_owner = 5'000;
  } partition;
  // Of one source.
  struct Source {
    size_t max_schemas = 64;          // evicts the least recently used one
    size_t max_waiting_frames = 256;  // whose schema is not known yet
    size_t max_modes = 64;            // of steps
    size_t max_mode_bytes = 128;      // of a mode's name
    size_t max_ended_boots = 4;       // whose sequence numbers are remembered
  } source;
  // Which sources hold the watermark.
  struct Liveness {
    int64_t idle_after_ns = 5 * kNanosPerSecond;
    int64_t foreign_lateness_ns = 15 * kNanosPerSecond;
    int64_t foreign_unknown_interval_ns = 60 * kNanosPerSecond;
    int64_t clock_ahead_ns = 60 * kNanosPerSecond;
    int64_t clock_behind_ns = 60 * kNanosPerSecond;
  } liveness;
  // When a job is over.
  struct Ends {
    int64_t silence_ns = 30 * 60 * kNanosPerSecond;
    // A job whose attempt died waits so long of its time for a restart.
    int64_t restart_grace_ns = 120 * kNanosPerSecond;
    int64_t tombstone_ns = 7 * 24 * 3600 * kNanosPerSecond;
  } ends;
  // How often, in event time, something is repeated.
  struct Intervals {
    // The engine's own state-like series (time-model.md 1.2).
    int64_t own_series_repeat_ns = 15 * kNanosPerSecond;
    // The removal of series that no window sees any more.
    int64_t expiry_ns = 60 * kNanosPerSecond;
    // The judgement of status and needs of step rules (time-model.md, section 3: on the time
    // clock).
    int64_t step_status_ns = 5 * kNanosPerSecond;
  } intervals;

  uint32_t max_sources_per_job = 20'000;
  uint32_t max_series_per_job = 200'000;
  // Input of a job that cannot be applied yet (services/engine/sources/pending_bytes.h): half of it
  // for what waits for the watermark, with schemas and sources; a quarter for rows of each clock
  // that wait for a tick or for a promised step. The processor sets it from processor.job_memory.
  size_t max_job_bytes = size_t{1} << 30;
  size_t max_separate_clocks_per_mode = 16;  // of ranks that fell behind the shared step clock
  size_t max_withheld_per_job = 4'096;       // metrics that a collector withholds
  size_t max_labels_per_job = 64;            // further ones of later hellos are left out
  size_t max_step_times = 65'536;            // steps whose event time is remembered
  // Issues that incidents know, open ones and those that ended just now. Beyond it a new issue is
  // an incident of its own, without a root cause, and counted. A few MB; a thousand nodes with four
  // issues each.
  size_t max_tracked_issues_per_job = 4'096;

  // In 8-byte cells, as the stores count them.
  size_t open_cells_per_clock() const { return max_job_bytes / 4 / 8; }

  // A frame waits for its schema as long as descriptors need to be repeated (5 s), and the
  // lateness.
  int64_t schema_wait_ns = 20 * kNanosPerSecond;
  // Onsets this close belong to one incident, and an ended issue may be the cause of one found this
  // long after: docs/decisions/0012-group-issues-into-incidents.md explains the two minutes.
  int64_t incident_window_ns = 120 * kNanosPerSecond;
  // Rules whose groups give no interval.
  int64_t evaluation_interval_ns = 60 * kNanosPerSecond;

  // False for inputs that are merged by time first (backtest of foreign formats): no watermark from
  // promises, no refusal of samples ahead of the append time.
  bool check_append_time = true;
  // Gets what recording rules write; null: nobody does. Borrowed.
  RecordingObserver* recordings = nullptr;
};

}  // namespace pitwall::engine
