// Counters of one partition, owned by its thread. Other threads read them through Snapshot copies
// that the processor publishes. Drops are counted by reason.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace pitwall::engine {

enum class Drop : size_t {
  kDuplicate,      // (source, boot, sequence) seen before
  kLate,           // at or before the watermark
  kClockAhead,     // more than clock_ahead after the record's append time
  kUnknownSchema,  // its descriptors never arrived
  kZombie,         // from an ended attempt or boot
  kJobEnded,       // for an ended job
  kLimit,          // a limit of EngineOptions was exceeded
  kUndecodable,    // bytes that are not telemetry
  kLateStep,       // its step was already evaluated
  kMalformed,      // decodes, but does not match its own schema
  kOtherOwner,     // from a source with a different owner than the job
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
  uint64_t evaluations = 0;  // sum over ticks and jobs of the evaluated rules
  uint64_t rule_errors = 0;
  uint64_t events = 0;            // issues and statuses, including those suppressed during recovery
  uint64_t untracked_issues = 0;  // issues above EngineOptions::max_tracked_issues_per_job
  uint64_t gaps = 0;              // missing sequence numbers (so far)
  uint64_t restored_jobs = 0;
  uint64_t displaced_jobs = 0;  // jobs of an owner displaced by a declaration
  // Dropped samples for the reasons late, late_step, clock_ahead, zombie, and limit; dropped
  // batches or records for all other reasons.
  std::array<uint64_t, static_cast<size_t>(Drop::kCount)> drops{};

  void Count(Drop reason, uint64_t n = 1) { drops[static_cast<size_t>(reason)] += n; }
};

}  // namespace pitwall::engine
