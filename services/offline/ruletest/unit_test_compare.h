// Comparison of the expected and the actual result of a unit test, as promtool does it. "" when
// nothing differs, else both, in lines that can be printed.
#pragma once

#include <string>
#include <vector>

#include "services/engine/domain/clock_domain.h"
#include "services/offline/query.h"
#include "services/offline/ruletest/firing_annotations.h"
#include "services/offline/ruletest/unit_test_file.h"

namespace pitwall::offline {

// Labels and annotations, exactly. An alert without exp_annotations must have none if `strict`;
// else any.
std::string CompareAlerts(const AlertCase& expected, const std::vector<FiringAlert>& firing,
                          bool strict);

// The status of the rule that the case names. Also a difference: no rule, or more than one.
std::string CompareStatus(const StatusCase& expected,
                          const std::vector<engine::RuleStatusNow>& statuses);

// Labels and values, exactly: NaN equals nothing. With `fuzzy` neighboring doubles are equal.
std::string CompareSamples(const ExprCase& expected, std::vector<QueryElement> got, bool fuzzy);

}  // namespace pitwall::offline
