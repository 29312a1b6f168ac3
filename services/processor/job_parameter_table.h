// Rule parameters that users have set for individual jobs, stored on pitwall.rules. They form the
// second layer of overrides.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/codec/rule_set_codec.h"
#include "services/io/io.h"
#include "services/io/topic_table.h"

namespace pitwall::processor {

inline constexpr size_t kMaxJobsWithParameters = 256;
inline constexpr size_t kMaxParametersOfJob = 32;

// The table changes only when it reads records from the topic, including the records that it wrote
// itself. All processors therefore reach the same state. Not thread-safe. The clock and log are
// borrowed.
class JobParameterTable {
 public:
  JobParameterTable(Clock* clock, Log* log);

  // Reads all new records of the topic.
  Status Read() { return table_.ReadToEnd(); }
  // Appends the parameters of one job, or a tombstone if the job has no parameters. Then reads the
  // record back.
  Status Write(const codec::JobParameters& all);

  // Returns the parameters of a job, or null if none are set.
  const codec::JobParameters* Find(const std::string& job) const;
  // Returns the job's parameters after applying `change`, which sets or resets one parameter.
  // Returns ResourceExhausted if a limit would be exceeded.
  StatusOr<codec::JobParameters> With(const codec::SetParameter& change) const;
  codec::JobParameters Without(const JobParameter& of) const;
  std::vector<std::string> Jobs() const;  // sorted by job ID
  // Returns the contents of the table for RuleSet::job_parameters.
  std::vector<JobParameter> Layer() const;

 private:
  void Put(const Record& record);

  TopicTable table_;
  std::map<std::string, codec::JobParameters, std::less<>> jobs_;
};

}  // namespace pitwall::processor
