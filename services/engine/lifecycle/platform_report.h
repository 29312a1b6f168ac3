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
  bool reported_failure = false;  // it said goodbye: an exception, or an exit with a code
  std::string exception;          // what it said of it; "": nothing
};

// Cause of a death that the rank reported itself.
inline constexpr std::string_view kException = "exception";

// The signal that ended it. A shell between reports 9 and 15 as a code.
std::optional<int32_t> SignalOf(const RankDeath& death);
// Ended by SIGTERM, as whoever ends a job asks its ranks to.
bool IsTerminated(const RankDeath& death);
// A lack of memory, or a signal other than 9 and 15: nobody ends a process like this on purpose.
bool IsCrash(const RankDeath& death);
// "out of memory", "exception", "signal 9", "exit code 3", "unknown": by the collector alone.
std::string CauseOf(const RankDeath& death);

// A word is of a death when it came in time; a later word of the same attempt replaces an earlier
// one that said less. Reads no clock.
class PlatformReport {
 public:
  // A first SIGTERM may be the platform's as long before its word: jobs have a grace to end.
  static constexpr int64_t kTerminatedWithinNs = 300'000'000'000;
  // Any other end that the platform caused comes this soon before its word.
  static constexpr int64_t kEndedWithinNs = 5'000'000'000;
  // An end of unknown cause is explained by a word that comes this soon after it.
  static constexpr int64_t kExplainedWithinNs = 60'000'000'000;

  // `alone`: at most one rank was lost by then, so that what is said of the whole job is said of
  // it.
  void Receive(int64_t at, const PlatformEnd& end, bool alone);
  bool received() const { return end_.has_value(); }
  // Of the whole job, not of one rank.
  bool covers_job() const { return end_.has_value() && !end_->rank; }
  // Event time of the word.
  int64_t at() const { return at_; }

  // Whether the platform ended that rank on purpose. A crash (a signal other than 9 and 15, a lack
  // of memory) before its word never is.
  bool OnPurpose(const RankDeath& death) const;
  // The cause with what the platform adds.
  std::string Cause(const RankDeath& death) const;

  void Save(BinaryWriter& out) const;  // only where received()
  void Restore(BinaryReader& in);

 private:
  std::optional<PlatformEnd> end_;
  int64_t at_ = kMinPosition;
  bool alone_ = false;
};

}  // namespace pitwall::engine
