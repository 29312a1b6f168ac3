// Comparison of the engine's results against the expected results in a golden script, equivalent to
// promqltest.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/offline/promqltest/golden_script.h"
#include "services/offline/query.h"

namespace pitwall::offline {

// Returns true if the values differ by less than a millionth of their sum, or if both are NaN. A
// stale marker equals only another stale marker.
bool AlmostEqual(double a, double b);

// Compare a result against the expected result. Return a description of the difference, or "" if
// the results match.
//
// The result of an instant query is one tick. Labels must match exactly, including __name__, and
// the order must match if the eval is ordered. The result of a range query has one series per label
// set, with gaps. A scalar is the series {}.
std::string CompareInstant(const EvalCommand& eval, QueryType type,
                           const std::vector<QueryElement>& elements, bool ordered);
std::string CompareRange(const EvalCommand& eval, const QueryAnswer& answer);
// Compares the error message against the expected failure. The engine adds a position to its
// messages, so the message only has to contain the expected text.
std::string CompareFailure(const EvalCommand& eval, std::string_view words);

// Format results in the notation of golden scripts, one series per line.
std::vector<std::string> ExpectedLines(const EvalCommand& eval);
std::vector<std::string> InstantLines(QueryType type, const std::vector<QueryElement>& elements);
std::vector<std::string> RangeLines(const QueryAnswer& answer);

}  // namespace pitwall::offline
