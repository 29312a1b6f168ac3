// Detection of step rules that combine series from several ranks. A rank that has fallen behind the
// shared clock is missing from these rules. Its own clock evaluates only the other rules.
#pragma once

#include <vector>

#include "rules/plan/program/program.h"

namespace pitwall::engine {

// Returns, for each rule in each group of `domain`, whether the result depends on the series of
// more than one rank. It does if an aggregation drops the `rank` label, if the rule calls absent()
// or scalar(), if the rule reads no series, or if the rule reads a series recorded by such a rule.
std::vector<std::vector<bool>> RulesAcrossRanks(const plan::DomainPlan& domain);

}  // namespace pitwall::engine
