#include "services/adapters/store/segment_footer.h"

#include <utility>

#include "services/base/binary.h"
#include "services/base/strings.h"

namespace pitwall::store {
namespace {

void EncodeGroup(const RowGroup& group, const std::vector<ColumnType>& columns, uint64_t* at,
                 BinaryWriter* out) {
  out->U64(group.rows);
  out->I64(group.first_ns);
  out->I64(group.last_ns);
  for (size_t i = 0; i < columns.size(); ++i) {
    const Page& page = group.pages[i];
    out->I64(static_cast<int64_t>(page.offset - *at));  // 0: right behind the last one
    *at = page.offset + page.bytes;
    out->U64(page.bytes);
    out->U64(page.crc);
    if (columns[i] != ColumnType::kValue) continue;
    const ValueSummary& summary = group.summaries[i];
    out->U64(summary.count);
    if (summary.count == 0) continue;
    out->Double(summary.min);
    out->Double(summary.max);
    out->Double(summary.sum);
    out->Double(summary.last);
  }
}

Status DecodeGroup(BinaryReader* in, const std::vector<ColumnType>& columns, uint64_t end,
                   bool summaries, uint64_t* at, RowGroup* group) {
  const uint64_t rows = in->U64();
  if (rows == 0 || rows > kMaxGroupRows) {
    return DataLoss(Cat("segment: a group of ", rows, " rows; at most ", kMaxGroupRows));
  }
  group->rows = static_cast<uint32_t>(rows);
  group->first_ns = in->I64();
  group->last_ns = in->I64();
  group->pages.reserve(columns.size());
  if (summaries) group->summaries.resize(columns.size());
  for (const ColumnType type : columns) {
    Page page;
    page.offset = *at + static_cast<uint64_t>(in->I64());
    const uint64_t bytes = in->U64();
    page.crc = static_cast<uint32_t>(in->U64());
    if (bytes > kMaxPageBytes || page.offset < kHeadBytes || page.offset > end ||
        bytes > end - page.offset) {
      return DataLoss(
          Cat("segment: a page of ", bytes, " bytes at ", page.offset, ", beyond ", end));
    }
    page.bytes = static_cast<uint32_t>(bytes);
    *at = page.offset + bytes;
    if (type == ColumnType::kValue) {
      const uint64_t count = in->U64();
      if (count > rows) return DataLoss(Cat("segment: ", count, " values in ", rows, " rows"));
      ValueSummary summary;
      summary.count = static_cast<uint32_t>(count);
      if (count > 0 && !summaries) in->Raw(4 * sizeof(double));
      if (count > 0 && summaries) {
        summary.min = in->Double();
        summary.max = in->Double();
        summary.sum = in->Double();
        summary.last = in->Double();
      }
      if (summaries) group->summaries[group->pages.size()] = summary;
    }
    group->pages.push_back(page);
  }
  return OkStatus();
}

}  // namespace

std::string EncodeFooter(const std::vector<Table>& tables) {
  BinaryWriter out;
  uint64_t at = kHeadBytes;
  out.U64(tables.size());
  for (const Table& table : tables) {
    out.U8(static_cast<uint8_t>(table.kind));
    out.Str(table.key);
    out.U64(table.columns.size());
    for (const ColumnType type : table.columns) out.U8(static_cast<uint8_t>(type));
    out.U64(table.groups.size());
    for (const RowGroup& group : table.groups) EncodeGroup(group, table.columns, &at, &out);
  }
  return out.Take();
}

StatusOr<std::vector<Table>> DecodeFooter(std::string_view bytes, uint64_t end, bool summaries) {
  BinaryReader in(bytes);
  std::vector<Table> tables;
  uint64_t at = kHeadBytes;
  const size_t count = in.Count(4);
  for (size_t t = 0; t < count && in.ok(); ++t) {
    Table table;
    const uint8_t kind = in.U8();
    if (kind < 1 || kind > 4) return DataLoss(Cat("segment: unknown kind of table ", int{kind}));
    table.kind = static_cast<TableKind>(kind);
    table.key = in.Str();
    const size_t columns = in.Count();
    for (size_t i = 0; i < columns; ++i) {
      const uint8_t type = in.U8();
      if (type < 1 || type > 3) return DataLoss(Cat("segment: unknown type of column ", int{type}));
      table.columns.push_back(static_cast<ColumnType>(type));
    }
    if (table.columns.empty() || table.columns[0] != ColumnType::kInt) {
      return DataLoss("segment: a table without a column of times");
    }
    const size_t groups = in.Count(3);
    // Grows with what is read: a group in memory is many times as long as its least bytes.
    for (size_t g = 0; g < groups && in.ok(); ++g) {
      RETURN_IF_ERROR(
          DecodeGroup(&in, table.columns, end, summaries, &at, &table.groups.emplace_back()));
    }
    tables.push_back(std::move(table));
  }
  RETURN_IF_ERROR(in.Finish("segment: footer"));
  return tables;
}

}  // namespace pitwall::store
