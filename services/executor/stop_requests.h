// Stop requests of people on pitwall.actions, presented to a worker like issues.
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

// Returns the event that policies evaluate and decisions refer to. Its ID is that of the request.
IssueEvent EventOfRequest(const ActionEvent& request);

// Requests of one worker that have not expired. Reading begins with the last records of each
// partition, so that a restart misses none. The topic may have another number of partitions than
// the workers' topic: worker w of n reads w, w + n, … The caller knows which requests are already
// decided. Not thread-safe; clock and log are borrowed.
class StopRequests {
 public:
  static constexpr int64_t kReadBack = 1000;  // records read at startup

  // `workers_topic` has one partition per worker.
  StopRequests(const Clock* clock, Log* log, std::string topic, std::string workers_topic,
               int32_t worker)
      : clock_(clock),
        log_(log),
        topic_(std::move(topic)),
        workers_topic_(std::move(workers_topic)),
        worker_(worker) {}

  // Appends the requests since the last call, without waiting. OK if the topic does not exist yet.
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
