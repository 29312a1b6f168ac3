// Silences in the log, for the history.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/io/io.h"
#include "services/model/issues/issue.h"
#include "services/model/issues/silenced_issue.h"
#include "services/notifier/policies/silence_table.h"

namespace pitwall {

// Reads the topic on demand, at most once per second. Thread-safe.
class FollowedSilences {
 public:
  // Both must outlive this object.
  FollowedSilences(Clock* clock, Log* log)
      : clock_(clock), book_(clock, log, std::string(notifier::kSilencesTopic)) {}

  // Returns nullopt if the issue is not silenced now or has ended.
  std::optional<SilencedIssue> Of(const IssueEvent& event);

 private:
  void Look();

  Clock* const clock_;
  Mutex mutex_;
  notifier::SilenceTable book_;
  bool open_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t next_look_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // monotonic
};

}  // namespace pitwall
