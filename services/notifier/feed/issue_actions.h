// Executor decisions and actions from pitwall.actions, and the issues that live decisions refer to.
// Issue receivers get these issues regardless of filters and inhibition.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/io/io.h"
#include "services/io/topic_follower.h"
#include "services/model/issues/action.h"
#include "services/notifier/feed/recent_events.h"

namespace pitwall::notifier {

// One thread reads, and any thread may query. The clock and log are borrowed. The topic may not
// exist yet, because the executor creates it. Keeps the newest `max_acts` executor actions without
// duplicates.
class IssueActions {
 public:
  struct Act {
    int32_t partition = 0;  // partition of the actions topic
    int64_t offset = 0;
    std::shared_ptr<const ActionEvent> action;
    bool first = false;  // true for the first executor action on this issue
  };

  IssueActions(Clock* clock, Log* log, std::string topic, size_t max_acts);

  // Reads all records up to the last committed record. Called at startup.
  Status ReadAll();
  // Reads new records without waiting.
  Status ReadNew();

  // Returns true if the executor acted on the issue.
  bool Has(std::string_view issue) const;
  // Returns the text of the newest executor action on the issue, or "". Dry runs are ignored.
  std::string Text(std::string_view issue) const;
  // Returns the number of times that a partition was reread from its start because its log was
  // replaced.
  uint64_t resets() const { return resets_; }
  // Returns the executor actions at or after these positions, in the order in which they were read.
  // For partitions missing from `from`, returns all actions.
  std::vector<Act> Since(const Positions& from) const;
  Positions Next() const;  // empty if the topic does not exist
  const std::string& topic() const { return topic_; }

  void Listen(Wakeup* wakeup);
  void Unlisten(Wakeup* wakeup);

 private:
  struct Issue {
    size_t acts = 0;  // number of elements in acts_ for the issue
    bool acted = false;
    std::shared_ptr<const ActionEvent> newest;  // newest action reported to receivers
  };

  Status Open();
  void Take(const FollowedRecords& read, const TopicFollower& follower);
  void Add(const Record& record, int32_t partition, bool* fresh)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Forget() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Clock* const clock_;
  Log* const log_;
  const std::string topic_;
  const size_t max_acts_;
  // The following members are used only by the reading thread.
  std::vector<std::unique_ptr<TopicFollower>> followers_;  // by partition
  int64_t open_again_ns_ = INT64_MIN;
  std::atomic<uint64_t> resets_{0};

  mutable Mutex mutex_;
  std::deque<Act> acts_ ABSL_GUARDED_BY(mutex_);
  // IDs of the elements of acts_.
  std::set<std::string, std::less<>> ids_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Issue, std::less<>> issues_ ABSL_GUARDED_BY(mutex_);
  Positions next_ ABSL_GUARDED_BY(mutex_);
  std::set<Wakeup*> listeners_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::notifier
