// State of one job and its attempts, from io.pitwall.job.changed and the history.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/model/issues/issue.h"
#include "services/model/job.h"

namespace pitwall::history {

// One run of a job. Times are event time in ns since 1970.
struct AttemptLife {
  uint64_t attempt = 0;
  int64_t began_ns = 0;  // 0: unknown
  int64_t ended_ns = 0;  // 0: running
  EndDetail end_detail = EndDetail::kNone;
  std::string end_text;                            // for people: JobEndText
  std::vector<std::pair<int64_t, LostRank>> lost;  // time and rank
  // Initialization ends at the start of the first step; finalization starts at the end of the last
  // step.
  int64_t first_step_ns = 0;  // 0: no step yet
  int64_t last_step_ns = 0;
};

// One source of a job, as described by its batches.
struct SourceLife {
  std::string source;
  std::string node;
  int64_t rank = -1;  // -1: no rank
  int64_t first_ns = 0;
  int64_t last_ns = 0;
  int64_t interval_ns = 0;  // declared; 0: unknown
  bool goodbye = false;     // ended with a goodbye
  int64_t goodbye_ns = 0;   // time of the goodbye; 0: unknown
};

struct JobOverview {
  std::string id;
  std::string name;
  std::string owner;  // "uid:1000", "pod:<uid>"; "": not known
  JobReference reference;
  int64_t first_ns = 0;  // of samples and events
  int64_t last_ns = 0;
  int64_t started_ns = 0;  // 0: unknown
  int64_t ended_ns = 0;    // 0: running
  EndDetail end_detail = EndDetail::kNone;
  std::string end_text;               // for people: JobEndText
  std::vector<AttemptLife> attempts;  // ascending
  std::map<std::string, SourceLife> sources;
  std::map<std::string, uint64_t> found;  // number of started issues by rule
  uint64_t open_issues = 0;
  std::string worst_severity;  // of open issues; "": no issue is open
  // Earliest onset of open issues that report stalled steps; 0: none.
  int64_t stalled_since_ns = 0;
  // Content of the history.
  uint64_t samples = 0;
  uint64_t bytes = 0;          // on disk
  int64_t raw_from_ns = 0;     // raw samples before it were dropped; 0: all are present
  int64_t raw_dropped_ns = 0;  // wall time of the last dropping; 0: unknown
  bool archived = false;
};

// Returns the time since which the job is stalled according to an issue event; 0: the event does
// not report a stall.
inline int64_t StallOnset(const IssueEvent& event) {
  const std::string_view category = event.labels.Get("category");
  return category == "hang" || category == "progress" ? event.onset_ns : 0;
}

using JobLifePtr = std::shared_ptr<const JobOverview>;

}  // namespace pitwall::history
