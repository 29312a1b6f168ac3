// Graph of causes that the rules of a set define with `explains`, from alert to alert.
#pragma once

#include "rules/check/rule_set.h"
#include "rules/lang/diagnostic.h"

namespace pitwall::plan {

// Reports a cycle (it would have no root) and an edge against the order of causes
// (services/model/issues/cause_class.h) as errors. An alert that occurs in several packs is one
// node. Use it for new rule sets only; a set that is already in a log stays valid, and the engine
// breaks its cycles by onset.
void CheckCauseGraph(const check::CheckedRuleSet& rule_set, lang::Diagnostics* diagnostics);

}  // namespace pitwall::plan
