// The parameters that people set of single jobs, as pitwall.rules has them: the second layer of
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

// Changes only by what it reads from the topic, its own records included, so that all processors
// come to the same. Not thread-safe; the log is borrowed.
class JobParameterTable {
 public:
  explicit JobParameterTable(Log* log) : log_(log) {}

  // Everything that the topic has now.
  Status Read();
  // Appends what is set of one job and reads it back; a tombstone where nothing is.
  Status Write(const codec::JobParameters& all);

  // Null: nothing is set of the job.
  const codec::JobParameters* Find(const std::string& job) const;
  // `change`, or taking it back, on top of what is set of its job. ResourceExhausted: a bound is
  // crossed.
  StatusOr<codec::JobParameters> With(const codec::SetParameter& change) const;
  codec::JobParameters Without(const JobParameter& of) const;
  std::vector<std::string> Jobs() const;  // sorted
  // For RuleSet::job_parameters.
  std::vector<JobParameter> Layer() const;

 private:
  void Take(const Record& record);

  Log* const log_;
  std::unique_ptr<PartitionReader> reader_;
  std::unique_ptr<Appender> appender_;
  std::map<std::string, codec::JobParameters, std::less<>> jobs_;
};

}  // namespace pitwall::processor
