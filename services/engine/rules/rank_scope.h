// Rules of a step clock that combine series of several ranks. A rank that fell behind the shared
// clock is judged by the other rules only: for these it is missing.
#pragma once

#include <vector>

#include "rules/plan/program/program.h"

namespace pitwall::engine {

// For each group of `domain`, for each of its rules: whether its result depends on more than the
// series of one rank. That holds if an aggregation drops the label "rank", if the rule calls
// absent() or scalar(), if it reads no series, or if it reads a series recorded by such a rule.
std::vector<std::vector<bool>> RulesAcrossRanks(const plan::DomainPlan& domain);

}  // namespace pitwall::engine
