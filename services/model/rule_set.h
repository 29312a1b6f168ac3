// Source form of a rule set and its hash, as passed from files to the log and the compiler
// (rules/plan/compile.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "services/base/time.h"

namespace pitwall {

// Rule file. The content is opaque here, and the name is used in messages. The stem of the name is
// the pack, which must be unique in the set.
struct RuleSetFile {
  std::string name;
  std::string text;
  friend bool operator==(const RuleSetFile&, const RuleSetFile&) = default;
};

// Rule parameter set by a user for one job. It takes precedence over the overrides in the file.
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
  std::vector<RuleSetFile> baselines = {};              // summaries of finished jobs
  Duration evaluation_interval = Duration::Minutes(1);  // for groups without their own interval
  std::vector<JobParameter> job_parameters = {};        // sorted by job, rule, name; unique
  friend bool operator==(const RuleSet&, const RuleSet&) = default;
};

// Returns a hash of names, texts, overrides, summaries, and interval, as 32 hex digits. If the set
// has job parameters, they are hashed together with the hash of the rest. This hash is the set's
// key on pitwall.rules, so the inputs of the hash must never change.
std::string RuleSetHash(const RuleSet& rules);
// Combines the job parameters with the hash of the rest of the set. Returns `base` if there are no
// job parameters.
std::string RuleSetHash(const std::string& base, const std::vector<JobParameter>& parameters);

}  // namespace pitwall
