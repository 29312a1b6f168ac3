// Comparison of the engine's answer with the expectation of a golden script, as in promqltest.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/offline/promqltest/golden_script.h"
#include "services/offline/query.h"

namespace pitwall::offline {

// Whether the values differ by less than a millionth of their sum or are both NaN; a stale marker
// equals only itself.
bool AlmostEqual(double a, double b);

// Returns the difference, or "" if there is none.
//
// An instant answer is one tick with exact labels, including __name__, in file order if the eval is
// ordered. A range answer is a series per label set with gaps; a scalar is the series {}.
std::string CompareInstant(const EvalCommand& eval, QueryType type,
                           const std::vector<QueryElement>& elements, bool ordered);
std::string CompareRange(const EvalCommand& eval, const QueryAnswer& answer);
// Compares the message of an expected failure. The engine adds positions before the message, so the
// message only has to contain the expected text.
std::string CompareFailure(const EvalCommand& eval, std::string_view words);

// Formats in the notation of the scripts, one series per line.
std::vector<std::string> ExpectedLines(const EvalCommand& eval);
std::vector<std::string> InstantLines(QueryType type, const std::vector<QueryElement>& elements);
std::vector<std::string> RangeLines(const QueryAnswer& answer);

}  // namespace pitwall::offline
