// End of a job as reported by its platform (Slurm, Kubernetes), and the effect of the report on a
// death.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "services/base/binary.h"
#include "services/base/time.h"
#include "services/model/issues/platform_end.h"

namespace pitwall::engine {

struct RankDeath {
  EventTime at;  // event time
  int64_t rank = -1;
  std::string node;
  std::optional<int32_t> signal;
  std::optional<int32_t> exit_code;
  bool oom_killed = false;
  bool reported_failure = false;  // sent a goodbye with an exception or an exit code
  std::string exception;          // reported exception text, or ""
};

// Cause of death for a rank that reported an exception.
inline constexpr std::string_view kException = "exception";

// Returns the signal that ended the rank. If a shell started the rank, signals 9 and 15 can appear
// as exit codes.
std::optional<int32_t> SignalOf(const RankDeath& death);
// Returns whether SIGTERM, the usual request to stop a job's ranks, ended the rank.
bool IsTerminated(const RankDeath& death);
// Returns whether the rank ran out of memory or died from a signal other than 9 or 15. Such deaths
// are never intentional.
bool IsCrash(const RankDeath& death);
// Returns "out of memory", "exception", "signal 9", "exit code 3", or "unknown", based only on the
// collector's data.
std::string CauseOf(const RankDeath& death);

// A report applies to a death if it arrives in time. A later report about the same attempt replaces
// an earlier one with less information. Independent of the system clock.
class PlatformReport {
 public:
  // The platform may send the first SIGTERM up to this long before its report, because jobs have a
  // grace period in which to end.
  static constexpr Duration kTerminatedWithin = Duration::Minutes(5);
  // Any other end caused by the platform occurs at most this long before its report.
  static constexpr Duration kEndedWithin = Duration::Seconds(5);
  // A report explains an end of unknown cause if it arrives at most this long after the end.
  static constexpr Duration kExplainedWithin = Duration::Seconds(60);

  // Records a report. `alone` means that at most one rank had been lost when the report arrived, so
  // a report about the whole job applies to that rank.
  void Receive(EventTime at, const PlatformEnd& end, bool alone);
  bool received() const { return end_.has_value(); }
  // Returns whether the report covers the whole job, not one rank.
  bool covers_job() const { return end_.has_value() && !end_->rank; }
  // Event time of the report.
  EventTime at() const { return at_; }

  // Returns whether the platform ended that rank on purpose. Never true for a crash before the
  // report (out of memory, or a signal other than 9 or 15).
  bool OnPurpose(const RankDeath& death) const;
  // Returns the cause with the platform's information added.
  std::string Cause(const RankDeath& death) const;

  void Save(BinaryWriter& out) const;  // Requires received().
  void Restore(BinaryReader& in);

 private:
  std::optional<PlatformEnd> end_;
  EventTime at_ = EventTime::Earliest();
  bool alone_ = false;
};

}  // namespace pitwall::engine
