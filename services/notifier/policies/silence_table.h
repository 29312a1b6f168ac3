// The silences of all receivers, kept on the topic pitwall.silences: one record for each, by its
// id, so that they are there after a restart and for every notifier of the log.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/base/system/age_clock.h"
#include "services/io/io.h"
#include "services/notifier/routing/silence.h"

namespace pitwall::notifier {

// One thread reads, any number asks. Clock and log are borrowed.
class SilenceTable {
 public:
  SilenceTable(Clock* clock, Log* log, std::string topic);

  // Makes the topic and reads what is there. For a start.
  Status Open();
  // What has come since, without waiting.
  Status ReadNew();

  // Keeps the silence and gives it an id; `starts_ns` 0: from now on. InvalidArgument: see
  // CheckSilence, or it is over already. ResourceExhausted: there are too many. Unavailable: the
  // log did not take it.
  StatusOr<Silence> Add(Silence silence);
  // Ends it now. NotFound; FailedPrecondition: it has ended.
  StatusOr<Silence> Expire(std::string_view id);
  // Those that have not ended at `wall_ns`; all that are known with `ended`.
  std::vector<Silence> List(bool ended) const;
  const SilenceSet& set() const { return set_; }

  void Listen(Wakeup* wakeup);
  void Unlisten(Wakeup* wakeup);

 private:
  Status Append(const Silence& silence);
  // Removes silences that ended longer than SilenceSet::kKeepNs ago from the topic, which is
  // compacted. A jump of the wall clock removes none (AgeClock).
  Status ForgetOld();
  Status Write(std::vector<OutgoingRecord> records);
  void Take(const std::vector<Record>& records);

  Clock* const clock_;
  Log* const log_;
  const std::string topic_;
  SilenceSet set_;
  std::unique_ptr<PartitionReader> reader_;  // the reading thread's own

  mutable Mutex mutex_;
  std::unique_ptr<Appender> appender_ ABSL_GUARDED_BY(mutex_);
  uint64_t made_ ABSL_GUARDED_BY(mutex_) = 0;
  AgeClock age_clock_ ABSL_GUARDED_BY(mutex_);
  std::set<Wakeup*> listeners_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::notifier
