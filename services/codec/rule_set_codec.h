// Rule sets <-> the records on pitwall.rules (state.proto, RuleSet).
#pragma once

#include <string>
#include <string_view>

#include "services/base/status.h"
#include "services/model/rule_set.h"

namespace pitwall::codec {

// The record's value; its key is RuleSetHash(rules). Deterministic.
std::string EncodeRuleSet(const RuleSet& rules);

// InvalidArgument: not a rule set, no interval, or two files of one name; DataLoss: the content
// does not have the hash that is beside it. At most 16 MiB and 4096 files.
StatusOr<RuleSet> DecodeRuleSet(std::string_view bytes);

}  // namespace pitwall::codec
