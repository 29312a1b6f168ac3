// Table stored in a compacted topic with one partition: the newest record of each key.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/io/io.h"
#include "services/io/topic_follower.h"

namespace pitwall {

// Keeps a table that the owner holds equal to the topic. Write may be called from any thread, and
// all other functions from one thread at a time. The clock and log are borrowed.
class TopicTable {
 public:
  struct Handlers {
    std::function<void(const Record& record)> put;
    std::function<void(const std::string& key)> remove;
    // The topic was replaced (log_truncated); the records of the new one follow.
    std::function<void(const Status& why)> replaced;
  };

  TopicTable(Clock* clock, Log* log, std::string topic, Handlers handlers);

  // Applies all records up to the current end of the topic, which must exist.
  Status ReadToEnd();
  // Applies records that have arrived, without waiting. Returns whether it applied a change.
  StatusOr<bool> ReadNew();
  // Appends records to the topic. ReadToEnd or ReadNew applies them later.
  Status Write(std::vector<OutgoingRecord> records);

  const std::string& topic() const { return follower_.at().topic; }

 private:
  void Apply(const FollowedRecords& read);

  Log* const log_;
  const Handlers handlers_;
  TopicFollower follower_;

  Mutex mutex_;
  std::unique_ptr<Appender> appender_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall
