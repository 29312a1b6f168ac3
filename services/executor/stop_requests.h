// Stops that people ask for, from pitwall.actions: each becomes what an issue is to a worker.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/model/action.h"
#include "services/model/issue.h"
#include "services/pipeline/io.h"

namespace pitwall::executor {

// The event that policies judge and decisions name. Its id is that of the request.
IssueEvent EventOfRequest(const ActionEvent& request);

// Requests of one partition that have not expired; those of the last records at first, so that a
// restart misses none. Which of them are decided already, the caller knows. Not thread-safe;
// everything is borrowed.
class StopRequests {
 public:
  static constexpr int64_t kReadBack = 1000;  // records, at the start

  StopRequests(const Clock* clock, Log* log, TopicPartition at)
      : clock_(clock), log_(log), at_(std::move(at)) {}

  // What came since the last call; waits for nothing. OK where the topic is not there yet.
  Status Read(std::vector<IssueEvent>* events);

 private:
  Status Open();

  const Clock* const clock_;
  Log* const log_;
  const TopicPartition at_;
  std::unique_ptr<PartitionReader> reader_;
};

}  // namespace pitwall::executor
