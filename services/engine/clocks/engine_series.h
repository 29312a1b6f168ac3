// Series that the engine writes for one job: source flags, attempts, rank failures, and silent
// nodes. Rules read them like any other series. The engine writes them on the time clock when they
// change and repeats them while they are active. No two writes have the same time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "services/base/time.h"
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
  // The pointers are borrowed.
  EngineSeries(const EngineOptions& options, const JobClock* clock, ClockDomains* domains,
               RowWriter* writer, JobBaselines* baselines);

  // Writes pitwall_source_flagged{source,node,reason}. The value is 1 while the flag is on.
  void Flag(std::string_view source, std::string_view node, std::string_view reason, bool on);
  // Writes the current attempt number and the number of attempts so far. Both take effect at event
  // time `at`, even if the engine learns of the attempt later. The previous attempt's failure
  // series end at `at`.
  void BeginAttempt(uint64_t number, EventTime at);
  // Writes values that became known at a tick. Must be called before that tick is evaluated.
  void WriteFailures(EventTime tick, AttemptFailures::Values values);
  // Writes the changes to pitwall_node_silent_ranks{node}. `silent` comes from SilentNodes.
  void WriteSilentNodes(std::map<std::string, uint64_t, std::less<>> silent);
  // Repeats all series, and the constant values of baselines, up to `upto`.
  void Repeat(EventTime upto);
  // Like Repeat, but has no effect if no series has been written.
  void RepeatWritten(EventTime upto);
  // Returns the time just after both `at` and the newest write.
  EventTime TimeAfter(EventTime at) const;
  // Schedules all series to be written at the next tick, because new rules may read them.
  void WriteAgain() { written_at_.reset(); }
  void Clear() { series_.clear(); }

  // Saves the time of the newest write. Save writes the series.
  void SaveTime(BinaryWriter& out) const {
    out.I64(written_at_.value_or(EventTime::Earliest()).ns());
  }
  void RestoreTime(BinaryReader& in);
  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);

 private:
  void Write(EventTime at, const Labels& labels, double value);

  const EngineOptions& options_;
  const JobClock* const clock_;
  ClockDomains* const domains_;
  RowWriter* const writer_;
  JobBaselines* const baselines_;
  std::map<Labels, double> series_;      // Active series and their values.
  std::optional<EventTime> written_at_;  // If empty, the series are written at the next tick.
};

}  // namespace pitwall::engine
