// Comparison of a unit test's actual results against the expected results, equivalent to promtool.
// Each function returns "" if the results are equal, and otherwise both results as printable lines.
#pragma once

#include <string>
#include <vector>

#include "services/engine/domain/clock_domain.h"
#include "services/offline/query.h"
#include "services/offline/ruletest/firing_annotations.h"
#include "services/offline/ruletest/unit_test_file.h"

namespace pitwall::offline {

// Labels and annotations must match exactly. An alert without exp_annotations must have no
// annotations if `strict` is true, and may have any annotations otherwise.
std::string CompareAlerts(const AlertCase& expected, const std::vector<FiringAlert>& firing,
                          bool strict);

// Compares the status of the rule that the test case selects. A missing or ambiguous rule also
// counts as a difference.
std::string CompareStatus(const StatusCase& expected,
                          const std::vector<engine::RuleStatusNow>& statuses);

// Labels and values must match exactly, and NaN does not equal any value. If `fuzzy` is true,
// adjacent doubles are considered equal.
std::string CompareSamples(const ExprCase& expected, std::vector<QueryElement> got, bool fuzzy);

}  // namespace pitwall::offline
