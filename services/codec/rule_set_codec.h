// Rule sets <-> the records on pitwall.rules (state.proto, RuleSet).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"

namespace pitwall::codec {

// A file as its author wrote it: the bytes are not looked into here.
struct RuleFile {
  std::string name;
  std::string content;
  friend bool operator==(const RuleFile&, const RuleFile&) = default;
};

// Everything that decides what the rules of a partition are. The order of the files counts: groups
// run in it.
struct RuleSet {
  std::vector<RuleFile> files;
  std::optional<RuleFile> overrides;
  std::vector<RuleFile> baselines;                  // summaries of finished jobs
  int64_t evaluation_interval_ns = 60'000'000'000;  // where groups have no interval of their own
  friend bool operator==(const RuleSet&, const RuleSet&) = default;
};

// 32 hex digits over names, contents, overrides, summaries and interval: the name of the rule set,
// for ever.
std::string RuleSetHash(const RuleSet& rules);

// The record's value; its key is RuleSetHash(rules). Deterministic.
std::string EncodeRuleSet(const RuleSet& rules);

// InvalidArgument: not a rule set, no interval, or two files of one name; DataLoss: the content
// does not have the hash that stands beside it. At most 16 MiB and 4096 files.
StatusOr<RuleSet> DecodeRuleSet(std::string_view bytes);

}  // namespace pitwall::codec
