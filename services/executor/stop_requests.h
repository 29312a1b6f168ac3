// User stop requests from pitwall.actions, presented to a worker as issue events.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/io/io.h"
#include "services/io/topic_follower.h"
#include "services/model/issues/action.h"
#include "services/model/issues/issue.h"

namespace pitwall::executor {

// Converts a request to an event that policies can evaluate and decisions can reference. The event
// has the request's ID.
IssueEvent EventOfRequest(const ActionEvent& request);

// Unexpired stop requests for one worker. Reading starts kReadBack records before the end of each
// partition, so a restarted worker does not miss requests. This topic and the workers' topic may
// have different numbers of partitions: worker w of n reads partitions w, w + n, … The caller must
// track which requests were already decided. Not thread-safe. The clock and log are borrowed.
class StopRequests {
 public:
  static constexpr int64_t kReadBack = 1000;  // records to read from each partition at startup

  // `workers_topic` is the topic with one partition per worker.
  StopRequests(Clock* clock, Log* log, std::string topic, std::string workers_topic, int32_t worker)
      : clock_(clock),
        log_(log),
        topic_(std::move(topic)),
        workers_topic_(std::move(workers_topic)),
        worker_(worker) {}

  // Appends the requests that have arrived since the last call, without waiting. Returns OK if the
  // topic does not exist yet.
  Status Read(std::vector<IssueEvent>* events);

 private:
  Status Open();
  void Take(const Record& record, std::vector<IssueEvent>* events) const;

  Clock* const clock_;
  Log* const log_;
  const std::string topic_;
  const std::string workers_topic_;
  const int32_t worker_;
  bool open_ = false;
  std::vector<std::unique_ptr<TopicFollower>> followers_;  // possibly none
};

}  // namespace pitwall::executor
