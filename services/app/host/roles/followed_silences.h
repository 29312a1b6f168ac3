// Silences stored in the log, used by the history.
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

// Reads the silences topic on demand, at most once per second. Thread-safe.
class FollowedSilences {
 public:
  // Both pointers must outlive this object.
  FollowedSilences(Clock* clock, Log* log)
      : clock_(clock), book_(clock, log, std::string(notifier::kSilencesTopic)) {}

  // Returns the silence that applies to the issue. Returns nullopt if the issue is not silenced or
  // has ended.
  std::optional<SilencedIssue> Of(const IssueEvent& event);

 private:
  void Look();

  Clock* const clock_;
  Mutex mutex_;
  notifier::SilenceTable book_;
  bool open_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t next_look_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // monotonic time
};

}  // namespace pitwall
