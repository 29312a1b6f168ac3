// Comparison of the expected and the actual result of a unit test, as in promtool. Returns "" if
// they are equal, else both in printable lines.
#pragma once

#include <string>
#include <vector>

#include "services/engine/domain/clock_domain.h"
#include "services/offline/query.h"
#include "services/offline/ruletest/firing_annotations.h"
#include "services/offline/ruletest/unit_test_file.h"

namespace pitwall::offline {

// Exact labels and annotations. If `strict`, an alert without exp_annotations must have none;
// otherwise any are allowed.
std::string CompareAlerts(const AlertCase& expected, const std::vector<FiringAlert>& firing,
                          bool strict);

// Status of the rule that the case names. A missing or ambiguous rule is also a difference.
std::string CompareStatus(const StatusCase& expected,
                          const std::vector<engine::RuleStatusNow>& statuses);

// Exact labels and values: NaN equals nothing. With `fuzzy`, adjacent doubles are equal.
std::string CompareSamples(const ExprCase& expected, std::vector<QueryElement> got, bool fuzzy);

}  // namespace pitwall::offline
