// Stops that people ask for, from pitwall.actions: each becomes what an issue is to a worker.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/io/io.h"
#include "services/model/issues/action.h"
#include "services/model/issues/issue.h"

namespace pitwall::executor {

// The event that policies judge and decisions name. Its id is that of the request.
IssueEvent EventOfRequest(const ActionEvent& request);

// The share of one worker of the requests that have not expired; of each partition those of the
// last records at first, so that a restart misses none. The topic may have other partitions than
// the workers' own: worker w of n reads w, w + n, … Which requests are decided already, the caller
// knows. Not thread-safe; clock and log are borrowed.
class StopRequests {
 public:
  static constexpr int64_t kReadBack = 1000;  // records, at the start

  // `workers_topic` has a partition for each worker.
  StopRequests(const Clock* clock, Log* log, std::string topic, std::string workers_topic,
               int32_t worker)
      : clock_(clock),
        log_(log),
        topic_(std::move(topic)),
        workers_topic_(std::move(workers_topic)),
        worker_(worker) {}

  // What came since the last call; waits for nothing. OK where the topic is not there yet.
  Status Read(std::vector<IssueEvent>* events);

 private:
  Status Open();
  Status ReadFrom(PartitionReader* reader, std::vector<IssueEvent>* events);

  const Clock* const clock_;
  Log* const log_;
  const std::string topic_;
  const std::string workers_topic_;
  const int32_t worker_;
  bool open_ = false;
  std::vector<std::unique_ptr<PartitionReader>> readers_;
};

}  // namespace pitwall::executor
