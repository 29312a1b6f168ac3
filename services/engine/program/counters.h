// Counters of one partition, owned by its thread. Read by other threads
// through Snapshot copies that the processor publishes; every drop has its own reason.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace pitwall::engine {

enum class Drop : size_t {
  kDuplicate,      // (source, boot, sequence) seen before
  kLate,           // at or before the watermark
  kClockAhead,     // more than clock_ahead_ns after its record's append time
  kUnknownSchema,  // its descriptors never came
  kZombie,         // of an attempt, or a boot, that has ended
  kJobEnded,       // of a job that has ended
  kLimit,          // a bound of EngineOptions was crossed
  kUndecodable,    // bytes that are no telemetry
  kLateStep,       // its step had been judged already
  kMalformed,      // decodes, but does not fit its own schema
  kOtherOwner,     // of a source whose owner is not the job's
  kCount,
};
constexpr std::array<std::string_view, static_cast<size_t>(Drop::kCount)> kDropNames = {
    "duplicate", "late",        "clock_ahead", "unknown_schema", "zombie",     "job_ended",
    "limit",     "undecodable", "late_step",   "malformed",      "other_owner"};

struct EngineCounters {
  uint64_t records = 0;
  uint64_t batches = 0;
  uint64_t samples = 0;      // accepted into open rows
  uint64_t ticks = 0;        // clock ticks read
  uint64_t evaluations = 0;  // rule x tick x job
  uint64_t rule_errors = 0;
  uint64_t events = 0;            // issues and statuses, also those suppressed in recovery
  uint64_t untracked_issues = 0;  // beyond EngineOptions::max_tracked_issues_per_job
  uint64_t gaps = 0;              // sequence numbers that never came (so far)
  uint64_t restored_jobs = 0;
  uint64_t displaced_jobs = 0;  // of an owner that a declaration displaced
  // Samples for late, clock_ahead, zombie, limit; batches or records for the others.
  std::array<uint64_t, static_cast<size_t>(Drop::kCount)> drops{};

  void Count(Drop reason, uint64_t n = 1) { drops[static_cast<size_t>(reason)] += n; }
};

}  // namespace pitwall::engine
