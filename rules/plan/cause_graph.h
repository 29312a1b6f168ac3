// Graph of causes between the alerts of a rule set, as defined by `explains`.
#pragma once

#include "rules/check/rule_set.h"
#include "rules/lang/diagnostic.h"

namespace pitwall::plan {

// Reports two kinds of errors: a cycle, which would have no root, and an edge against the order of
// causes (services/model/issues/cause_class.h). An alert that occurs in several packs is a single
// node. Call it only for new rule sets. A set that is already in a log stays valid, and the engine
// breaks its cycles by onset.
void CheckCauseGraph(const check::CheckedRuleSet& rule_set, lang::Diagnostics* diagnostics);

}  // namespace pitwall::plan
