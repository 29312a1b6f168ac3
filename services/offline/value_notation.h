// One item of Prometheus' notation of values, as unit tests and golden scripts have it: `1`,
// `1+2x3`, `1x3`, `_`, `_x3`, `stale`.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "services/base/status.h"

namespace pitwall::offline {

// How many values one series may have.
inline constexpr size_t kMaxValues = 1'000'000;

// Appends the values of one item; nothing where no sample is. `a+bxn` and `a-bxn` are n + 1 values,
// added up one by one as Prometheus does, so that its rounding is ours; `axn` n + 1 equal ones,
// `_xn` n gaps, `stale` a stale marker. InvalidArgument says what is wrong, without the item.
Status AppendValues(std::string_view item, std::vector<std::optional<double>>* values);

// Cuts `xn` off `item`. Nothing where there is none.
StatusOr<std::optional<size_t>> CutCount(std::string_view* item);
// The sign that parts start and step: not the first, and not that of an exponent; or npos.
size_t StepSign(std::string_view item);

}  // namespace pitwall::offline
