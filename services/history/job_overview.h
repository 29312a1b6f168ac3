// State of one job and its attempts, derived from io.pitwall.job.changed events and the history.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "services/history/binary_fields.h"
#include "services/model/issues/issue.h"
#include "services/model/job.h"

namespace pitwall::history {

// One attempt of a job. Times are event times in ns since 1970.
struct AttemptLife {
  uint64_t attempt = 0;
  int64_t began_ns = 0;  // 0 if unknown
  int64_t ended_ns = 0;  // 0 while running
  EndDetail end_detail = EndDetail::kNone;
  std::string end_text;                            // human-readable text (JobEndText)
  std::vector<std::pair<int64_t, LostRank>> lost;  // loss times and ranks
  // Initialization ends when the first step starts. Finalization starts when the last step ends.
  int64_t first_step_ns = 0;  // 0 if no step has started
  int64_t last_step_ns = 0;
};

// One source of a job, as described in the source's batches.
struct SourceLife {
  std::string source;
  std::string node;
  int64_t rank = -1;  // -1 if the source is not a rank
  int64_t first_ns = 0;
  int64_t last_ns = 0;
  int64_t interval_ns = 0;  // declared sampling interval; 0 if unknown
  bool goodbye = false;     // whether the source ended with a goodbye
  int64_t goodbye_ns = 0;   // time of the goodbye; 0 if unknown
};

// Summary of the open issues of a job.
struct OpenIssues {
  uint64_t count = 0;
  std::string worst_severity;  // empty if no issue is open
  // Earliest onset among open issues that report stalled steps; 0 if there are none.
  int64_t stalled_since_ns = 0;
};

struct JobOverview {
  std::string id;
  std::string name;
  std::string owner;  // "uid:1000" or "pod:<uid>"; empty if unknown
  JobReference reference;
  int64_t first_ns = 0;  // time of the first sample or event
  int64_t last_ns = 0;
  int64_t started_ns = 0;  // 0 if unknown
  int64_t ended_ns = 0;    // 0 while running
  EndDetail end_detail = EndDetail::kNone;
  std::string end_text;               // human-readable text (JobEndText)
  std::vector<AttemptLife> attempts;  // in ascending order
  std::map<std::string, SourceLife> sources;
  std::map<std::string, uint64_t> found;  // number of issues started, by rule
  OpenIssues open;
  // Amount of data stored for the job.
  uint64_t samples = 0;
  uint64_t bytes = 0;          // size on disk
  int64_t raw_from_ns = 0;     // raw samples before this time were dropped; 0 if all are present
  int64_t raw_dropped_ns = 0;  // wall time at which samples were last dropped; 0 if unknown
  bool archived = false;
};

// Returns the time at which the job stalled according to the issue event, or 0 if the event does
// not report a stall.
inline int64_t StallOnset(const IssueEvent& event) {
  const std::string_view category = event.labels.Get("category");
  return category == "hang" || category == "progress" ? event.onset.ns() : 0;
}

using JobLifePtr = std::shared_ptr<const JobOverview>;

// In the catalog and in messages between peers.
template <>
struct BinaryFields<JobReference> {
  using T = JobReference;
  static constexpr std::tuple kMembers = {&T::platform, &T::cluster, &T::namespace_name, &T::kind,
                                          &T::name,     &T::uid,     &T::queue};
};

}  // namespace pitwall::history
