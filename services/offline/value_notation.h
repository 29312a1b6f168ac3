// An item of Prometheus' notation of values in unit tests and golden scripts: `1`, `1+2x3`, `1x3`,
// `_`, `_x3`, `stale`.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "services/base/status.h"

namespace pitwall::offline {

// Maximum number of values of one series.
inline constexpr size_t kMaxValues = 1'000'000;

// Appends the values of one item; nullopt for a missing sample. `a+bxn` and `a-bxn` are n + 1
// values, added one by one with the same rounding as in Prometheus; `axn` is n + 1 equal values,
// `_xn` n gaps, and `stale` a stale marker. InvalidArgument states the cause without the item.
Status AppendValues(std::string_view item, std::vector<std::optional<double>>* values);

// Removes `xn` from `item`; returns nullopt if it has none.
StatusOr<std::optional<size_t>> CutCount(std::string_view* item);
// The sign between start and step: not the first character and not the sign of an exponent; or
// npos.
size_t StepSign(std::string_view item);

}  // namespace pitwall::offline
