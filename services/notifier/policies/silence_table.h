// Silences for all receivers, stored in the topic pitwall.silences. Each silence is a record keyed
// by its ID. Silences therefore survive restarts and apply to every notifier that uses the log.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/base/system/age_clock.h"
#include "services/io/io.h"
#include "services/io/topic_table.h"
#include "services/notifier/routing/silence.h"

namespace pitwall::notifier {

// One thread reads, and any thread may query. The clock and log are borrowed.
class SilenceTable {
 public:
  SilenceTable(Clock* clock, Log* log, std::string topic);

  // Creates the topic and reads its records. Called at startup.
  Status Open();
  // Reads new records without waiting.
  Status ReadNew();

  // Assigns an ID and stores the silence. A `starts_ns` of 0 means now. InvalidArgument:
  // CheckSilence failed, or the silence has already ended. ResourceExhausted: there are too many
  // silences. Unavailable: the log did not accept the record.
  StatusOr<Silence> Add(Silence silence);
  // Ends a silence now. NotFound: the ID is unknown. FailedPrecondition: the silence has already
  // ended.
  StatusOr<Silence> Expire(std::string_view id);
  // Returns the silences that have not ended at `wall_ns`, or all known silences if `ended` is
  // true.
  std::vector<Silence> List(bool ended) const;
  const SilenceSet& set() const { return set_; }

  void Listen(Wakeup* wakeup);
  void Unlisten(Wakeup* wakeup);

 private:
  Status Append(const Silence& silence);
  // Removes silences that ended more than SilenceSet::kKeepNs ago from the compacted topic. A
  // wall-clock jump does not remove silences (AgeClock).
  Status ForgetOld();
  void Put(const Record& record);
  void WakeListeners();

  Clock* const clock_;
  Log* const log_;
  SilenceSet set_;
  TopicTable table_;

  mutable Mutex mutex_;
  uint64_t made_ ABSL_GUARDED_BY(mutex_) = 0;
  AgeClock age_clock_ ABSL_GUARDED_BY(mutex_);
  std::set<Wakeup*> listeners_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::notifier
