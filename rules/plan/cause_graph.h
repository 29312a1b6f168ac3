// The graph of causes that the rules of a set draw by `explains`, from alert to alert.
#pragma once

#include "rules/check/rule_set.h"
#include "rules/lang/diagnostic.h"

namespace pitwall::plan {

// Errors: a circle (no root would be left), and a relation against the order of causes
// (services/model/issues/cause_class.h). An alert that several packs have is one node. For rule
// sets that are new; one that a log has already stays valid, and the engine breaks its circles by
// onset.
void CheckCauseGraph(const check::CheckedRuleSet& rule_set, lang::Diagnostics* diagnostics);

}  // namespace pitwall::plan
