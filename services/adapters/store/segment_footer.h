// Directory of a segment of the history: tables of columns, and the place of each page.
//
//   "PWHS" u32 version | pages | footer, zstd | u64 offset of the footer | u32 bytes | u32 CRC-32C
//   | "PWHE"
//
// Numbers are little-endian. A page is one column of one group of rows; those of a group lie one
// behind another. The footer has the CRC-32C of each page, and the trailer that of the footer: a
// flipped bit anywhere is found when it is read.
//
// The footer of version 4, in the numbers of services/base/binary.h:
//   U64 tables, then for each: U8 kind | Str key | U64 groups | with groups: I64 least time, less
//   that of the table before, I64 greatest time, less the least | Str body
//   body: U64 runs of columns, each U8 type, U64 columns | with groups: U64 offset of the first
//   page, then for each group: U64 rows | I64 least and I64 greatest time, less those of the table
//   | I64 offset, less the end of the group before | U64 bytes of each page | Str CRCs, 4 bytes a
//   page
// A body is read when its table is asked for. Versions 1 to 3 have no bodies and, for each page of
// values, a summary that nobody read; they are decoded as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"

namespace pitwall::store {

// Each version has forms of blocks, columns or footers that the one before has not; all are read.
inline constexpr int kSegmentVersion = 4;
inline constexpr std::string_view kSegmentMagic = "PWHS";
inline constexpr std::string_view kSegmentHead("PWHS\x04\0\0\0", 8);
inline constexpr std::string_view kSegmentEnd = "PWHE";
inline constexpr size_t kHeadBytes = 8;
inline constexpr size_t kTrailerBytes = 20;
// Bounds of what a reader takes.
inline constexpr size_t kMaxFooterBytes = size_t{256} << 20;
inline constexpr size_t kMaxPageBytes = size_t{64} << 20;
inline constexpr size_t kMaxGroupRows = 4096;  // as many as a block has values
inline constexpr size_t kMaxColumns = size_t{4} << 20;

// Numbers are in files: never reuse one.
enum class TableKind : uint8_t { kSamples = 1, kRollup = 2, kSpans = 3, kEvents = 4 };
enum class ColumnType : uint8_t { kInt = 1, kValue = 2, kText = 3 };

struct Page {
  uint64_t offset = 0;
  uint32_t bytes = 0;
  uint32_t crc = 0;
};

// Rows that were added together. The first column of a table is its time, in ns.
struct RowGroup {
  uint32_t rows = 0;
  int64_t first_ns = 0;     // least time
  int64_t last_ns = 0;      // greatest time
  std::vector<Page> pages;  // one for each column
};

struct Table {
  TableKind kind = TableKind::kSamples;
  std::string key;  // what the rows are of; its layout belongs to whoever writes it
  std::vector<ColumnType> columns;
  std::vector<RowGroup> groups;
};
using TablePtr = std::shared_ptr<const Table>;

// What is known of a table before it is decoded.
struct TableEntry {
  TableKind kind = TableKind::kSamples;
  std::string_view key;
  size_t groups = 0;
  int64_t first_ns = INT64_MAX;  // least time of its rows
  int64_t last_ns = INT64_MIN;   // greatest time
  std::string_view body;
};

// Uncompressed. Pages of a group must lie one behind another.
std::string EncodeFooter(const std::vector<Table>& tables);

// The tables of one segment. Immutable, and so thread-safe.
class Footer {
 public:
  // Uncompressed bytes of a footer of that version, which begins at `end`. DataLoss: malformed.
  static StatusOr<std::unique_ptr<const Footer>> Read(std::string bytes, int version, uint64_t end);
  Footer(const Footer&) = delete;  // entries refer to its bytes
  Footer& operator=(const Footer&) = delete;

  const std::vector<TableEntry>& entries() const { return entries_; }
  // The table of that number, made at each call; of former versions a reference, valid as long as
  // this. DataLoss: malformed, or a page beyond the footer's offset.
  StatusOr<TablePtr> Decode(size_t number) const;
  // About what it takes.
  size_t memory_bytes() const;

 private:
  Footer(std::string bytes, uint64_t end) : bytes_(std::move(bytes)), end_(end) {}
  Status ReadIndex();
  Status DecodeFormer();

  std::string bytes_;  // of version 4
  const uint64_t end_;
  std::vector<TableEntry> entries_;
  std::vector<Table> former_;  // of versions 1 to 3: all
};

}  // namespace pitwall::store
