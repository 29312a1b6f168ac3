// Reports of a job's platform (Slurm, Kubernetes) about its end, and their effect on a death.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "services/base/binary.h"
#include "services/model/issues/platform_end.h"
#include "services/model/position.h"

namespace pitwall::engine {

struct RankDeath {
  int64_t at = 0;  // event time
  int64_t rank = -1;
  std::string node;
  std::optional<int32_t> signal;
  std::optional<int32_t> exit_code;
  bool oom_killed = false;
  bool reported_failure = false;  // sent a goodbye: an exception, or an exit with a code
  std::string exception;          // reported exception text, or ""
};

// Cause of a death that the rank reported itself.
inline constexpr std::string_view kException = "exception";

// Returns the signal that ended the rank. A shell in between reports 9 and 15 as an exit code.
std::optional<int32_t> SignalOf(const RankDeath& death);
// Returns whether the rank was ended by SIGTERM, the usual request to end a job's ranks.
bool IsTerminated(const RankDeath& death);
// Returns whether the rank ran out of memory or died of a signal other than 9 and 15. Processes are
// never ended like this on purpose.
bool IsCrash(const RankDeath& death);
// Returns "out of memory", "exception", "signal 9", "exit code 3", or "unknown", based only on the
// collector's data.
std::string CauseOf(const RankDeath& death);

// A report applies to a death if it arrives in time. A later report of the same attempt replaces an
// earlier report with less information. Independent of the system clock.
class PlatformReport {
 public:
  // A first SIGTERM may come from the platform up to this long before its report, because jobs get
  // a grace period to end.
  static constexpr int64_t kTerminatedWithinNs = 300'000'000'000;
  // Any other end that the platform caused comes at most this long before its report.
  static constexpr int64_t kEndedWithinNs = 5'000'000'000;
  // An end of unknown cause is explained by a report that arrives at most this long after it.
  static constexpr int64_t kExplainedWithinNs = 60'000'000'000;

  // `alone` means that at most one rank was lost by then, so that a report about the whole job
  // applies to that rank.
  void Receive(int64_t at, const PlatformEnd& end, bool alone);
  bool received() const { return end_.has_value(); }
  // Returns whether the report covers the whole job, not one rank.
  bool covers_job() const { return end_.has_value() && !end_->rank; }
  // Event time of the report.
  int64_t at() const { return at_; }

  // Returns whether the platform ended that rank on purpose. A crash (a signal other than 9 and 15,
  // or lack of memory) before the report never counts as such.
  bool OnPurpose(const RankDeath& death) const;
  // Returns the cause, extended by the platform's information.
  std::string Cause(const RankDeath& death) const;

  void Save(BinaryWriter& out) const;  // Requires received().
  void Restore(BinaryReader& in);

 private:
  std::optional<PlatformEnd> end_;
  int64_t at_ = kMinPosition;
  bool alone_ = false;
};

}  // namespace pitwall::engine
