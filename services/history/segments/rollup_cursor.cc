#include "services/history/segments/rollup_cursor.h"

#include <numeric>

namespace pitwall::history {

bool RollupCursor::ReadColumns(BinaryReader& in, PagedRollups* out) {
  // The buffers are reused, and their old contents are overwritten below.
  std::vector<int64_t>&schema_numbers = out->rows.starts, &columns = out->rows.counts;
  in.I64s(&schema_numbers);
  in.I64s(&columns);
  if (!in.ok() || schema_numbers.size() != columns.size()) return false;
  out->schemas.resize(columns.size());
  out->columns.resize(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    if (static_cast<uint64_t>(schema_numbers[i]) >= schemas().size() ||
        static_cast<uint64_t>(columns[i]) > UINT32_MAX)
      return false;
    out->schemas[i] = static_cast<uint32_t>(schema_numbers[i]);
    out->columns[i] = static_cast<uint32_t>(columns[i]);
  }
  return true;
}

bool RollupCursor::ReadRows(BinaryReader& in, PagedRollups* out) {
  in.U32s(&out->row_counts);
  in.I64s(&out->rows.starts);
  in.I64s(&out->rows.counts);
  const size_t rows = out->rows.starts.size();
  const size_t values = in.Count(sizeof(double));
  out->rows.values = in.Raw(values * sizeof(double)).data();
  return in.ok() && in.AtEnd() && out->row_counts.size() == out->columns.size() &&
         out->rows.counts.size() == rows && values == rows * RollupColumns::kValues &&
         std::accumulate(out->row_counts.begin(), out->row_counts.end(), size_t{0}) == rows;
}

Status RollupCursor::Read(PagedRollups* out) {
  BinaryReader in(content());
  return ReadColumns(in, out) && ReadRows(in, out) ? OkStatus() : Malformed();
}

}  // namespace pitwall::history
