// Codec for integer columns with almost constant increments (times in ns, steps). It stores either
// second differences in the largest lossless unit, compressed with zstd, or prediction errors.
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

// Compression effort for a column. kSmall is for data that is kept for a long time: it also tries
// prediction (prediction.h) if kQuick takes more than 1.5 bytes per entry.
enum class ColumnEffort { kQuick, kSmall };
// Appends the encoded column. Returns InvalidArgument if the column has more than
// kMaxColumnEntries. An empty column takes one byte.
Status EncodeColumn(std::span<const int64_t> column, std::string* out,
                    ColumnEffort effort = ColumnEffort::kQuick);
// Appends the entries to `out`. Returns DataLoss if the bytes are corrupt. Never allocates memory
// for more than kMaxColumnEntries.
Status DecodeColumn(std::string_view bytes, std::vector<int64_t>* out);

}  // namespace pitwall::blocks
