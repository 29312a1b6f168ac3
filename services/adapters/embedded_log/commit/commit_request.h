// Request to the log's single writer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/adapters/embedded_log/format/commit_frame.h"
#include "services/adapters/embedded_log/format/committed_state.h"
#include "services/io/io.h"

namespace pitwall::log {

// A record with its resolved partition. The record is borrowed for the duration of the call.
struct RoutedRecord {
  CommittedState::Partition* partition = nullptr;
  const OutgoingRecord* record = nullptr;
};

struct CommitRequest {
  std::vector<RoutedRecord> records;
  std::optional<GroupPosition> position;
  std::string committer;        // if empty, no fencing
  uint64_t epoch = 0;           // if it differs from the current epoch, the result is Aborted
  bool open_committer = false;  // if set, assigns the committer's next epoch to `epoch`
};

}  // namespace pitwall::log
