// Codec for rule sets and the records on pitwall.rules (state.proto, RuleSet).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/base/time.h"
#include "services/model/rule_set.h"

namespace pitwall::codec {

// Returns the record's value; its key is RuleSetHash(rules). Deterministic. A set with job
// parameters refers to its base (the set without job parameters) by hash instead of repeating the
// files. The base must be on the topic too.
std::string EncodeRuleSet(const RuleSet& rules);

// Finds a record's base, which is the set without job parameters.
using FindBase = std::function<StatusOr<RuleSet>(const std::string& hash)>;

// Decodes a record. Returns InvalidArgument if it is not a rule set, has no interval, has two files
// with the same name, or exceeds 16 MiB or 4096 files. Returns DataLoss if the content does not
// match its hash. Returns FailedPrecondition if the set has a base but `find_base` is empty.
StatusOr<RuleSet> DecodeRuleSet(std::string_view bytes, const FindBase& find_base = {});

// Parameter that a user set for a job, with the request that set it. A restarted processor restores
// the second layer of overrides from these records.
struct SetParameter {
  JobParameter parameter;
  std::string principal;
  int64_t set_ns = 0;  // wall time
  std::string request;
  friend bool operator==(const SetParameter&, const SetParameter&) = default;
};
struct JobParameters {
  std::string job;
  std::vector<SetParameter> parameters;  // sorted
  EventTime over_since;  // wall time; 0 if the job is running or its state was not checked
  friend bool operator==(const JobParameters&, const JobParameters&) = default;
};
inline constexpr std::string_view kParametersKeyPrefix = "parameters/";
std::string ParametersKey(std::string_view job);
std::string EncodeJobParameters(const JobParameters& all);  // deterministic
// Decodes the record. Returns InvalidArgument if it is not a JobParameters record, is not sorted,
// or contains a number that is not finite.
StatusOr<JobParameters> DecodeJobParameters(std::string_view bytes);

}  // namespace pitwall::codec
