// Codec of integer columns that rise almost evenly (times in ns, steps): second differences in the
// largest lossless unit, then zstd, or their prediction errors.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"

namespace pitwall::blocks {

// Maximum number of entries in a column.
inline constexpr size_t kMaxColumnEntries = size_t{1} << 20;

// kSmall is for data that is kept: it also tries prediction (prediction.h) if kQuick takes more
// than 1.5 bytes per entry.
enum class ColumnEffort { kQuick, kSmall };
// InvalidArgument: more than kMaxColumnEntries. An empty column is one byte.
Status EncodeColumn(std::span<const int64_t> column, std::string* out,
                    ColumnEffort effort = ColumnEffort::kQuick);
// Appends the entries. DataLoss: damaged. Never allocates more than the limit.
Status DecodeColumn(std::string_view bytes, std::vector<int64_t>* out);

}  // namespace pitwall::blocks
