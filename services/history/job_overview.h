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
  int64_t began_ns = 0;  // 0: not known
  int64_t ended_ns = 0;  // 0: it runs
  EndDetail end_detail = EndDetail::kNone;
  std::string end_text;                            // for people: JobEndText
  std::vector<std::pair<int64_t, LostRank>> lost;  // when, who
  // Initialization ends with the first step's start, finalization begins with the last step's end.
  int64_t first_step_ns = 0;  // 0: no step yet
  int64_t last_step_ns = 0;
};

// One source of a job, as its batches describe it.
struct SourceLife {
  std::string source;
  std::string node;
  int64_t rank = -1;  // -1: no rank
  int64_t first_ns = 0;
  int64_t last_ns = 0;
  int64_t interval_ns = 0;  // declared; 0: not known
  bool goodbye = false;     // ended in order
  int64_t goodbye_ns = 0;   // when; 0: not known
};

struct JobOverview {
  std::string id;
  std::string name;
  std::string owner;  // "uid:1000", "pod:<uid>"; "": not known
  JobReference reference;
  int64_t first_ns = 0;  // of samples and events
  int64_t last_ns = 0;
  int64_t started_ns = 0;  // 0: not known
  int64_t ended_ns = 0;    // 0: it runs
  EndDetail end_detail = EndDetail::kNone;
  std::string end_text;               // for people: JobEndText
  std::vector<AttemptLife> attempts;  // ascending
  std::map<std::string, SourceLife> sources;
  std::map<std::string, uint64_t> found;  // issues that began, by rule
  uint64_t open_issues = 0;
  std::string worst_severity;  // of open issues; "": no issue is open
  // The first onset of open issues that say that no step ends; 0: none does.
  int64_t stalled_since_ns = 0;
  // What the history holds.
  uint64_t samples = 0;
  uint64_t bytes = 0;          // on disk
  int64_t raw_from_ns = 0;     // raw samples before it were dropped; 0: all are there
  int64_t raw_dropped_ns = 0;  // when the last of these were, by the wall clock; 0: not known
  bool archived = false;
};

// Since when a job stands still by what an event of an issue says; 0: it says nothing of that.
inline int64_t StallOnset(const IssueEvent& event) {
  const std::string_view category = event.labels.Get("category");
  return category == "hang" || category == "progress" ? event.onset_ns : 0;
}

using JobLifePtr = std::shared_ptr<const JobOverview>;

}  // namespace pitwall::history
