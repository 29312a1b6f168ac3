// Decisions and actions of the executor, from pitwall.actions, and the issues of its live
// decisions: receivers of issues get them whatever filters and inhibition do.
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
#include "services/model/issues/action.h"
#include "services/notifier/feed/recent_events.h"

namespace pitwall::notifier {

// One thread reads, any number asks. Clock and log are borrowed. The topic may come later than
// this: the executor makes it. Remembers the newest `max_acts`, each once.
class IssueActions {
 public:
  struct Act {
    int32_t partition = 0;  // of the actions topic
    int64_t offset = 0;
    std::shared_ptr<const ActionEvent> action;
    bool first = false;  // the first that says that it acted on this issue
  };

  IssueActions(Clock* clock, Log* log, std::string topic, size_t max_acts);

  // Up to what is committed now. For a start.
  Status ReadAll();
  // What has come since, without waiting.
  Status ReadNew();

  // Whether the executor acted on the issue.
  bool Has(std::string_view issue) const;
  // What was last said of the issue, for people; "": nothing. Dry runs are not.
  std::string Text(std::string_view issue) const;
  // How often a partition was read from its start since the log was another one.
  uint64_t resets() const { return resets_; }
  // Acts at or after these positions, in the order they were read. Partitions beyond the end of
  // `from` are new: all of theirs.
  std::vector<Act> Since(const Positions& from) const;
  Positions Next() const;  // empty while there is no topic
  const std::string& topic() const { return topic_; }

  void Listen(Wakeup* wakeup);
  void Unlisten(Wakeup* wakeup);

 private:
  struct Issue {
    size_t acts = 0;  // of acts_
    bool acted = false;
    std::shared_ptr<const ActionEvent> newest;  // that people are told of
  };

  Status Open();
  void Take(const std::vector<Record>& records, int32_t partition, int64_t next);
  void Forget() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The topic was deleted, replaced or cut: its partition is read from its start.
  Status Restart(int32_t partition);

  Clock* const clock_;
  Log* const log_;
  const std::string topic_;
  const size_t max_acts_;
  // The reading thread's own:
  std::vector<std::unique_ptr<PartitionReader>> readers_;
  int64_t open_again_ns_ = INT64_MIN;
  int64_t look_again_ns_ = INT64_MIN;
  std::atomic<uint64_t> resets_{0};

  mutable Mutex mutex_;
  std::deque<Act> acts_ ABSL_GUARDED_BY(mutex_);
  // Of acts_.
  std::set<std::string, std::less<>> ids_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Issue, std::less<>> issues_ ABSL_GUARDED_BY(mutex_);
  Positions next_ ABSL_GUARDED_BY(mutex_);
  std::set<Wakeup*> listeners_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::notifier
