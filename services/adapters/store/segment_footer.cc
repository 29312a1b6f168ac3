#include "services/adapters/store/segment_footer.h"

#include <algorithm>
#include <utility>

#include "services/base/binary.h"
#include "services/base/text/strings.h"
#include "services/base/wrapping.h"

namespace pitwall::store {
namespace {

constexpr size_t kCrcBytes = 4;
constexpr size_t kLeastGroupBytes = 10;  // CRC size of one page

void Append(uint32_t crc, std::string* out) {
  for (size_t i = 0; i < kCrcBytes; ++i) out->push_back(static_cast<char>(crc >> (8 * i)));
}
uint32_t CrcAt(std::string_view crcs, size_t page) {
  uint32_t crc = 0;
  for (size_t i = kCrcBytes; i-- > 0;)
    crc = crc << 8 | static_cast<uint8_t>(crcs[page * kCrcBytes + i]);
  return crc;
}

struct Times {
  int64_t first_ns = INT64_MAX;
  int64_t last_ns = INT64_MIN;
};
Times TimesOf(const Table& table) {
  Times out;
  for (const RowGroup& group : table.groups) {
    out.first_ns = std::min(out.first_ns, group.first_ns);
    out.last_ns = std::max(out.last_ns, group.last_ns);
  }
  return out;
}

std::string EncodeBody(const Table& table, const Times& times) {
  BinaryWriter out;
  std::vector<std::pair<ColumnType, uint64_t>> runs;
  for (const ColumnType type : table.columns) {
    if (runs.empty() || runs.back().first != type) runs.emplace_back(type, 0);
    ++runs.back().second;
  }
  out.U64(runs.size());
  for (const auto& [type, columns] : runs) {
    out.U8(static_cast<uint8_t>(type));
    out.U64(columns);
  }
  uint64_t at = 0;
  for (const RowGroup& group : table.groups) {
    const uint64_t offset = group.pages.front().offset;
    if (&group == table.groups.data()) out.U64(at = offset);
    out.U64(group.rows);
    out.I64(Minus(group.first_ns, times.first_ns));
    out.I64(Minus(group.last_ns, times.last_ns));
    out.I64(static_cast<int64_t>(offset - at));
    std::string crcs;
    for (const Page& page : group.pages) {
      out.U64(page.bytes);
      Append(page.crc, &crcs);
    }
    out.Str(crcs);
    at = group.pages.back().offset + group.pages.back().bytes;
  }
  return out.Take();
}

Status CheckPage(uint64_t offset, uint64_t bytes, uint64_t end) {
  if (bytes <= kMaxPageBytes && offset >= kHeadBytes && offset <= end && bytes <= end - offset)
    return OkStatus();
  return DataLoss(Cat("segment: a page of ", bytes, " bytes at offset ", offset,
                      " is out of range (end ", end, ")"));
}

Status DecodeColumns(BinaryReader* in, Table* table) {
  for (size_t runs = in->Count(2); runs > 0 && in->ok(); --runs) {
    const uint8_t type = in->U8();
    if (type < 1 || type > 3) return DataLoss(Cat("segment: unknown column type ", int{type}));
    const uint64_t count = in->U64();
    if (count > kMaxColumns - table->columns.size())
      return DataLoss(Cat("segment: a table has more than ", kMaxColumns, " columns"));
    table->columns.resize(table->columns.size() + count, static_cast<ColumnType>(type));
  }
  if (table->columns.empty() || table->columns[0] != ColumnType::kInt)
    return DataLoss("segment: a table has no time column");
  return OkStatus();
}

Status DecodeGroup(BinaryReader* in, const TableEntry& entry, size_t columns, uint64_t end,
                   uint64_t* at, RowGroup* group) {
  const uint64_t rows = in->U64();
  if (rows == 0 || rows > kMaxGroupRows)
    return DataLoss(Cat("segment: a group has ", rows, " rows; the limit is ", kMaxGroupRows));
  group->rows = static_cast<uint32_t>(rows);
  group->first_ns = Plus(in->I64(), entry.first_ns);
  group->last_ns = Plus(in->I64(), entry.last_ns);
  *at += static_cast<uint64_t>(in->I64());
  group->pages.resize(columns);
  for (Page& page : group->pages) {
    const uint64_t bytes = in->U64();
    RETURN_IF_ERROR(CheckPage(*at, bytes, end));
    page.offset = *at;
    page.bytes = static_cast<uint32_t>(bytes);
    *at += bytes;
  }
  const std::string_view crcs = in->StrView();
  if (crcs.size() != columns * kCrcBytes)
    return DataLoss(
        Cat("segment: has ", crcs.size(), " bytes of checksums for ", columns, " pages"));
  for (size_t i = 0; i < columns; ++i) group->pages[i].crc = CrcAt(crcs, i);
  return OkStatus();
}

}  // namespace

std::string EncodeFooter(const std::vector<Table>& tables) {
  BinaryWriter out;
  out.U64(tables.size());
  int64_t before = 0;
  for (const Table& table : tables) {
    const Times times = TimesOf(table);
    out.U8(static_cast<uint8_t>(table.kind));
    out.Str(table.key);
    out.U64(table.groups.size());
    if (!table.groups.empty()) {
      out.I64(Minus(times.first_ns, before));
      out.I64(Minus(times.last_ns, times.first_ns));
      before = times.first_ns;
    }
    out.Str(EncodeBody(table, times));
  }
  return out.Take();
}

StatusOr<std::unique_ptr<const Footer>> Footer::Read(std::string bytes, uint64_t end) {
  std::unique_ptr<Footer> out(new Footer(std::move(bytes), end));
  RETURN_IF_ERROR(out->ReadIndex());
  return std::unique_ptr<const Footer>(std::move(out));
}

Status Footer::ReadIndex() {
  BinaryReader in(bytes_);
  const size_t count = in.Count(4);
  entries_.reserve(count);
  int64_t before = 0;
  for (size_t t = 0; t < count && in.ok(); ++t) {
    TableEntry& entry = entries_.emplace_back();
    const uint8_t kind = in.U8();
    if (kind < 1 || kind > 4) return DataLoss(Cat("segment: unknown table kind ", int{kind}));
    entry.kind = static_cast<TableKind>(kind);
    entry.key = in.StrView();
    entry.groups = in.U64();
    if (entry.groups > 0) {
      entry.first_ns = before = Plus(in.I64(), before);
      entry.last_ns = Plus(in.I64(), entry.first_ns);
    }
    entry.body = in.StrView();
  }
  return in.Finish("segment: footer");
}

StatusOr<TablePtr> Footer::Decode(size_t number) const {
  const TableEntry& entry = entries_[number];
  auto table = std::make_shared<Table>();
  table->kind = entry.kind;
  table->key = entry.key;
  BinaryReader in(entry.body);
  RETURN_IF_ERROR(DecodeColumns(&in, table.get()));
  uint64_t at = entry.groups > 0 ? in.U64() : 0;
  // The size of the body limits the number of groups, because a decoded group is much larger than
  // its minimum encoding.
  table->groups.reserve(std::min(entry.groups, entry.body.size() / kLeastGroupBytes));
  for (size_t g = 0; g < entry.groups && in.ok(); ++g) {
    RETURN_IF_ERROR(
        DecodeGroup(&in, entry, table->columns.size(), end_, &at, &table->groups.emplace_back()));
  }
  RETURN_IF_ERROR(in.Finish(Cat("segment: table ", number)));
  return TablePtr(std::move(table));
}

}  // namespace pitwall::store
