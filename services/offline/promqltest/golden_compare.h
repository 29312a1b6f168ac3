// Answer of the engine against what a golden script expects, as promqltest compares.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/offline/promqltest/golden_script.h"
#include "services/offline/query.h"

namespace pitwall::offline {

// Differ by less than a millionth of their sum, or are both NaN; a stale marker equals only itself.
bool AlmostEqual(double a, double b);

// What is wrong, "" when nothing is.
//
// An instant answer is one tick: labels exactly, with __name__; in the order of the file where the
// eval is ordered. A range answer is a series per set of labels, with a gap where a tick has none;
// a scalar is the series {}.
std::string CompareInstant(const EvalCommand& eval, QueryType type,
                           const std::vector<QueryElement>& elements, bool ordered);
std::string CompareRange(const EvalCommand& eval, const QueryAnswer& answer);
// The words of an error where a failure is expected. Positions before the words are ours, so it is
// enough that the expected ones are in them.
std::string CompareFailure(const EvalCommand& eval, std::string_view words);

// In the notation of the scripts, one line each.
std::vector<std::string> ExpectedLines(const EvalCommand& eval);
std::vector<std::string> InstantLines(QueryType type, const std::vector<QueryElement>& elements);
std::vector<std::string> RangeLines(const QueryAnswer& answer);

}  // namespace pitwall::offline
