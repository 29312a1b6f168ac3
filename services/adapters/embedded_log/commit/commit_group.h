// Group of requests committed with a single flush.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "services/adapters/embedded_log/commit/commit_request.h"
#include "services/adapters/embedded_log/commit/partition_writers.h"
#include "services/adapters/embedded_log/format/commit_frame.h"
#include "services/adapters/embedded_log/format/committed_state.h"
#include "services/base/status.h"

namespace pitwall::log {

// Combined effects of the requests in one group commit. Nothing becomes visible until the caller
// has appended frames() to the journal and published the result of Publish(). Not thread-safe: used
// under the writer lock.
class CommitGroup {
 public:
  // Numbers the frames starting after `sequence`. The frames record that all frames up to
  // `synced_sequence` are on disk. Borrows `state` and `writers`.
  CommitGroup(CommittedState* state, PartitionWriters* writers, uint64_t sequence,
              uint64_t synced_sequence)
      : state_(state), writers_(writers), synced_sequence_(synced_sequence), sequence_(sequence) {}

  // Writes the request's records and adds its frame to frames(). After an error, the group is
  // unchanged. Returns Aborted if the request's committer is fenced.
  Status Stage(CommitRequest* request);
  // Undoes the writes of all requests.
  void RollBack();
  // Returns the changes to make visible after the journal covers them.
  CommittedState::Publication Publish();

  const std::string& frames() const { return frames_; }  // encoded, in the order of the requests
  uint64_t sequence() const { return sequence_; }        // sequence of the newest frame
  int64_t records() const { return records_; }

 private:
  Status StageRecords(const std::vector<RoutedRecord>& records, Frame* frame);

  CommittedState* const state_;
  PartitionWriters* const writers_;
  const uint64_t synced_sequence_;
  std::map<PartitionWriter*, PartitionWriter::Mark> marks_;  // state before the group commit
  std::vector<PartitionWriter*> touched_;                    // in the order of first use
  std::map<std::string, uint64_t> epochs_;                   // assigned in this group commit
  std::vector<GroupPosition> positions_;
  std::string frames_;
  uint64_t sequence_;
  int64_t records_ = 0;
};

}  // namespace pitwall::log
