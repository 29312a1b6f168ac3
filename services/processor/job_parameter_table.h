// Parameters that people set for single jobs, as stored on pitwall.rules: the second layer of
// overrides.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/codec/rule_set_codec.h"
#include "services/io/io.h"

namespace pitwall::processor {

inline constexpr size_t kMaxJobsWithParameters = 256;
inline constexpr size_t kMaxParametersOfJob = 32;

// Changes only by records read from the topic, including its own, so that all processors reach the
// same state. Not thread-safe; the log is borrowed.
class JobParameterTable {
 public:
  explicit JobParameterTable(Log* log) : log_(log) {}

  // Reads all records of the topic.
  Status Read();
  // Appends the parameters of one job, or a tombstone if there are none, and reads the record back.
  Status Write(const codec::JobParameters& all);

  // Returns null if no parameter is set for the job.
  const codec::JobParameters* Find(const std::string& job) const;
  // Returns the parameters of the job with `change` applied (set or reset). ResourceExhausted: a
  // limit is exceeded.
  StatusOr<codec::JobParameters> With(const codec::SetParameter& change) const;
  codec::JobParameters Without(const JobParameter& of) const;
  std::vector<std::string> Jobs() const;  // sorted
  // Returns the layer for RuleSet::job_parameters.
  std::vector<JobParameter> Layer() const;

 private:
  void Take(const Record& record);

  Log* const log_;
  std::unique_ptr<PartitionReader> reader_;
  std::unique_ptr<Appender> appender_;
  std::map<std::string, codec::JobParameters, std::less<>> jobs_;
};

}  // namespace pitwall::processor
