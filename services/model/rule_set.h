// A rule set as its authors wrote it: the one form in which its text goes from files to the log and
// to the compiler (rules/plan/compile.h), and the one name that it has everywhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pitwall {

// The bytes are not looked into here. The name is for messages; the stem of a rule file's name
// is its pack, which must be unique in the set.
struct RuleSetFile {
  std::string name;
  std::string text;
  friend bool operator==(const RuleSetFile&, const RuleSetFile&) = default;
};

// A parameter of a rule that one job has of its own since a person asked for it: the second layer
// of overrides, which wins over the file's.
struct JobParameter {
  std::string job;   // its whole id
  std::string rule;  // pack/group/alert, plus #n
  std::string name;
  double value = 0;
  friend bool operator==(const JobParameter&, const JobParameter&) = default;
};

// Everything that decides what the rules are.
struct RuleSet {
  std::vector<RuleSetFile> files;
  std::optional<RuleSetFile> overrides = {};
  std::vector<RuleSetFile> baselines = {};          // summaries of finished jobs
  int64_t evaluation_interval_ns = 60'000'000'000;  // where groups have no interval of their own
  std::vector<JobParameter> job_parameters = {};    // sorted by job, rule, name; no two of one name
  friend bool operator==(const RuleSet&, const RuleSet&) = default;
};

// 32 hex digits over names, texts, overrides, summaries and interval; with parameters of jobs, over
// these and the hash without them. It is the set's key on pitwall.rules, so what it is made of
// never changes.
std::string RuleSetHash(const RuleSet& rules);
// The second step of it. Without parameters: `base`.
std::string RuleSetHash(const std::string& base, const std::vector<JobParameter>& parameters);

}  // namespace pitwall
