// Source of a rule set, as passed from files to the log and to the compiler (rules/plan/compile.h),
// with its hash.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pitwall {

// The bytes are opaque here. The name is for messages; the stem of a rule file's name is its pack,
// which must be unique in the set.
struct RuleSetFile {
  std::string name;
  std::string text;
  friend bool operator==(const RuleSetFile&, const RuleSetFile&) = default;
};

// Rule parameter that a person set for one job: the second layer of overrides, which takes
// precedence over the file's.
struct JobParameter {
  std::string job;   // complete job ID
  std::string rule;  // pack/group/alert, plus #n
  std::string name;
  double value = 0;
  friend bool operator==(const JobParameter&, const JobParameter&) = default;
};

// All inputs that define the rules.
struct RuleSet {
  std::vector<RuleSetFile> files;
  std::optional<RuleSetFile> overrides = {};
  std::vector<RuleSetFile> baselines = {};          // summaries of finished jobs
  int64_t evaluation_interval_ns = 60'000'000'000;  // for groups without an interval of their own
  std::vector<JobParameter> job_parameters = {};    // sorted by job, rule, name; unique
  friend bool operator==(const RuleSet&, const RuleSet&) = default;
};

// Returns 32 hex digits over names, texts, overrides, summaries, and interval; with parameters of
// jobs, over these and the hash without them. It is the set's key on pitwall.rules, so its inputs
// never change.
std::string RuleSetHash(const RuleSet& rules);
// Adds the parameters to a hash without them. Returns `base` if there are none.
std::string RuleSetHash(const std::string& base, const std::vector<JobParameter>& parameters);

}  // namespace pitwall
