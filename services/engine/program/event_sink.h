// Outputs from a partition's state machine, in order: events for pitwall.issues and records for
// pitwall.dlq.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/time.h"
#include "services/model/issues/issue.h"
#include "services/model/job.h"

namespace pitwall::engine {

// Maximum number of bytes kept from an invalid value. A log accepts records of about 1 MB, and a
// dead letter that the log rejects would stop the partition.
inline constexpr size_t kMaxDeadLetterBytes = size_t{256} << 10;

struct DeadLetter {
  std::string key;    // source ID, or the record's key if the source is unknown
  std::string value;  // the invalid bytes, possibly truncated
  std::string reason;
  LogOffset offset;           // offset of the record with the bytes
  size_t original_bytes = 0;  // size before truncation
};

struct EventSink {
  std::vector<IssueEvent> events;
  std::vector<DeadLetter> dead_letters;

  void Emit(IssueEvent event) { events.push_back(std::move(event)); }

  // Adds a dead letter. Keeps only the first one for each record, because a record with thousands
  // of invalid frames could otherwise fill the memory with copies of itself.
  void AddDeadLetter(std::string_view key, std::string_view value, std::string reason,
                     LogOffset offset);
};

// Identity of the job in events.
struct JobIdentity {
  std::string id;
  std::string name;
  std::string owner;  // such as "uid:1000" or "pod:<uid>"; "" if unknown
  JobReference reference;
  std::vector<Label> labels;
  // Metrics that a collector withholds from this job, and the reason for each (such as
  // gpu_split_unknown). A rule that needs a withheld metric reports the reason.
  std::map<std::string, std::string, std::less<>> withheld;
  // Not empty after the job has exceeded a limit. The job's rules have status Error because they do
  // not see all data.
  std::string limit_reason;
};

}  // namespace pitwall::engine
