// Series of the engine itself in one job, which rules read like those of sources: flags of sources,
// attempts, failures of ranks, silent nodes. They are written on the time clock when they change,
// and repeated while they hold. No two writes are at one position.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "services/engine/clocks/clock_domains.h"
#include "services/engine/clocks/job_baselines.h"
#include "services/engine/clocks/row_writer.h"
#include "services/engine/lifecycle/attempt_failures.h"
#include "services/engine/sources/job_clock.h"
#include "services/model/labels.h"

namespace pitwall::engine {

// Not thread-safe.
class EngineSeries {
 public:
  // All are borrowed.
  EngineSeries(const EngineOptions& options, const JobClock* clock, ClockDomains* domains,
               RowWriter* writer, JobBaselines* baselines);

  // pitwall_source_flagged{source,node,reason} is 1 while the flag is on.
  void Flag(std::string_view source, std::string_view node, std::string_view reason, bool on);
  // Number of the attempt that runs, and how many have begun: from event time `at` on, whenever
  // that became known. Failures of the attempt before end there.
  void BeginAttempt(uint64_t number, int64_t at);
  // Values that have become known at a tick, before that tick is evaluated.
  void WriteFailures(int64_t tick, AttemptFailures::Values values);
  // pitwall_node_silent_ranks{node}: writes what has changed. `silent`: as of SilentNodes.
  void WriteSilentNodes(std::map<std::string, uint64_t, std::less<>> silent);
  // Repeats all series, and the constant values of baselines, up to `upto`.
  void Repeat(int64_t upto);
  // The same, where something has been written already.
  void RepeatWritten(int64_t upto);
  // The position after `at` and after the newest write.
  int64_t PositionAfter(int64_t at) const;
  // Another rule may want the series: they are written again at the next tick.
  void WriteAgain() { written_at_.reset(); }
  void Clear() { series_.clear(); }

  // The position of the newest write, apart from the series.
  void SavePosition(BinaryWriter& out) const { out.I64(written_at_.value_or(kMinPosition)); }
  void RestorePosition(BinaryReader& in);
  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);

 private:
  void Write(int64_t position, const Labels& labels, double value);

  const EngineOptions& options_;
  const JobClock* const clock_;
  ClockDomains* const domains_;
  RowWriter* const writer_;
  JobBaselines* const baselines_;
  std::map<Labels, double> series_;    // those that hold
  std::optional<int64_t> written_at_;  // none: at the next tick
};

}  // namespace pitwall::engine
