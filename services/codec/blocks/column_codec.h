// Columns of integers that rise about evenly (times in ns, steps): differences of differences in
// the largest unit that loses nothing, then zstd; or what is left of them beside what was expected.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"

namespace pitwall::blocks {

// Most entries of a column.
inline constexpr size_t kMaxColumnEntries = size_t{1} << 20;

// Small: for what stays. Integers by what is expected of them are tried too (prediction.h), where
// the quick way takes more than a byte and a half an entry.
enum class ColumnEffort { kQuick, kSmall };
// InvalidArgument: more than kMaxColumnEntries. An empty column is one byte.
Status EncodeColumn(std::span<const int64_t> column, std::string* out,
                    ColumnEffort effort = ColumnEffort::kQuick);
// Appends the entries. DataLoss: damaged. Never allocates more than the bound.
Status DecodeColumn(std::string_view bytes, std::vector<int64_t>* out);

}  // namespace pitwall::blocks
