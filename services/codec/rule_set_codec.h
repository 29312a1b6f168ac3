// Rule sets <-> the records on pitwall.rules (state.proto, RuleSet).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/model/rule_set.h"

namespace pitwall::codec {

// The record's value; its key is RuleSetHash(rules). Deterministic. A set with parameters of jobs
// has the hash of the set without them in place of files, so that one is to be on the topic too.
std::string EncodeRuleSet(const RuleSet& rules);

// Finds the set without parameters of jobs that a record names.
using FindBase = std::function<StatusOr<RuleSet>(const std::string& hash)>;

// InvalidArgument: not a rule set, no interval, or two files of one name; DataLoss: the content
// does not have the hash that is beside it. FailedPrecondition: it needs another set, and
// `find_base` is empty. At most 16 MiB and 4096 files.
StatusOr<RuleSet> DecodeRuleSet(std::string_view bytes, const FindBase& find_base = {});

// What people set of one job, with who asked: the record from which a start takes the second layer
// of overrides.
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
  int64_t over_since_ns = 0;             // wall time; 0: the job runs, or nobody has looked
  friend bool operator==(const JobParameters&, const JobParameters&) = default;
};
inline constexpr std::string_view kParametersKeyPrefix = "parameters/";
std::string ParametersKey(std::string_view job);
std::string EncodeJobParameters(const JobParameters& all);  // deterministic
// InvalidArgument: not such a record, not in order, or a number that is not finite.
StatusOr<JobParameters> DecodeJobParameters(std::string_view bytes);

}  // namespace pitwall::codec
