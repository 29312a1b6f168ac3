// Prometheus's notation for values in unit tests and golden scripts: `1`, `1+2x3`, `1x3`, `_`,
// `_x3`, `stale`.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "services/base/status.h"

namespace pitwall::offline {

// Maximum number of values per series.
inline constexpr size_t kMaxValues = 1'000'000;

// Appends the values of one item, with nullopt for a missing sample. `a+bxn` and `a-bxn` represent
// n + 1 values, which are computed by repeated addition with the same rounding as in Prometheus.
// `axn` represents n + 1 equal values, `_xn` represents n missing samples, and `stale` represents a
// stale marker. InvalidArgument errors state the cause without the item.
Status AppendValues(std::string_view item, std::vector<std::optional<double>>* values);

// Removes the suffix `xn` from `item` and returns n. Returns nullopt if `item` has no such suffix.
StatusOr<std::optional<size_t>> CutCount(std::string_view* item);
// Returns the position of the sign between start and step, or npos. Ignores a sign that is the
// first character or part of an exponent.
size_t StepSign(std::string_view item);

}  // namespace pitwall::offline
