// Outputs of a partition's state machine: events for pitwall.issues and records for pitwall.dlq,
// in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/model/issues/issue.h"
#include "services/model/job.h"

namespace pitwall::engine {

// Of the bad bytes at most this many are kept: a log takes records of about 1 MB, and a dead letter
// that it does not take would stop the partition.
inline constexpr size_t kMaxDeadLetterBytes = size_t{256} << 10;

struct DeadLetter {
  std::string key;    // source, or the record's key where no source is known
  std::string value;  // the bad bytes, or their beginning
  std::string reason;
  int64_t offset = 0;         // of the record that they came in
  size_t original_bytes = 0;  // of the value before it was cut
};

struct EventSink {
  std::vector<IssueEvent> events;
  std::vector<DeadLetter> dead_letters;

  void Emit(IssueEvent event) { events.push_back(std::move(event)); }

  // One dead letter per record at most, with the first reason: a record of thousands of bad frames
  // must not fill the memory with copies of itself.
  void AddDeadLetter(std::string_view key, std::string_view value, std::string reason,
                     int64_t offset);
};

// Who the events speak of.
struct JobIdentity {
  std::string id;
  std::string name;
  std::string owner;  // "uid:1000", "pod:<uid>"; "": not known
  JobReference reference;
  std::vector<Label> labels;
  // Metrics that a collector withholds from this job, and why (gpu_split_unknown): a rule that
  // needs one says so.
  std::map<std::string, std::string, std::less<>> withheld;
  // Not empty once a bound of the job was crossed: its rules are in Error, since what they see is
  // not all.
  std::string limit_reason;
};

}  // namespace pitwall::engine
