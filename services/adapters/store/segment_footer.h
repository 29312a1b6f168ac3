// Directory of a history segment: tables, columns, and the location of each page.
//
//   "PWHS" u32 version | pages | footer, zstd | u64 offset of the footer | u32 bytes | u32 CRC-32C
//   | "PWHE"
//
// All numbers are little-endian. A page is one column of one row group; the pages of a group are
// contiguous. The footer contains the CRC-32C of each page, and the trailer contains the CRC-32C of
// the footer, so any flipped bit is detected when it is read.
//
// Footer, with the number encodings of services/base/binary.h:
//   U64 tables, then for each: U8 kind | Str key | U64 groups | with groups: I64 minimum time minus
//   that of the previous table, I64 maximum time minus the minimum | Str body
//   body: U64 runs of columns, each U8 type, U64 columns | with groups: U64 offset of the first
//   page, then for each group: U64 rows | I64 minimum and I64 maximum time minus those of the table
//   | I64 offset minus the end of the previous group | U64 bytes of each page | Str CRCs, 4 bytes
//   per page
// The body of a table is decoded on each access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"

namespace pitwall::store {

// The only version that is written and read.
inline constexpr int kSegmentVersion = 4;
inline constexpr std::string_view kSegmentMagic = "PWHS";
inline constexpr std::string_view kSegmentHead("PWHS\x04\0\0\0", 8);
inline constexpr std::string_view kSegmentEnd = "PWHE";
inline constexpr size_t kHeadBytes = 8;
inline constexpr size_t kTrailerBytes = 20;
// Limits for reading untrusted files.
inline constexpr size_t kMaxFooterBytes = size_t{256} << 20;
inline constexpr size_t kMaxPageBytes = size_t{64} << 20;
inline constexpr size_t kMaxGroupRows = 4096;  // same as the maximum number of values in a block
inline constexpr size_t kMaxColumns = size_t{4} << 20;

// Files contain these values, so they must never be reused.
enum class TableKind : uint8_t { kSamples = 1, kRollup = 2, kSpans = 3, kEvents = 4 };
enum class ColumnType : uint8_t { kInt = 1, kValue = 2, kText = 3 };

struct Page {
  uint64_t offset = 0;
  uint32_t bytes = 0;
  uint32_t crc = 0;
};

// Group of rows that were added in one call. The first column of a table is the time in ns.
struct RowGroup {
  uint32_t rows = 0;
  int64_t first_ns = 0;     // minimum time of the rows
  int64_t last_ns = 0;      // maximum time of the rows
  std::vector<Page> pages;  // one per column
};

struct Table {
  TableKind kind = TableKind::kSamples;
  std::string key;  // identifies the rows; the writer defines the layout
  std::vector<ColumnType> columns;
  std::vector<RowGroup> groups;
};
using TablePtr = std::shared_ptr<const Table>;

// Metadata of a table that is available without decoding it.
struct TableEntry {
  TableKind kind = TableKind::kSamples;
  std::string_view key;
  size_t groups = 0;
  int64_t first_ns = INT64_MAX;  // minimum time of its rows
  int64_t last_ns = INT64_MIN;   // maximum time of its rows
  std::string_view body;
};

// Returns the uncompressed footer. The pages of a group must be contiguous.
std::string EncodeFooter(const std::vector<Table>& tables);

// Tables of one segment. Immutable and therefore thread-safe.
class Footer {
 public:
  // Decodes the index of an uncompressed footer, which starts at `end` in the file. Returns
  // DataLoss if the footer is malformed.
  static StatusOr<std::unique_ptr<const Footer>> Read(std::string bytes, uint64_t end);
  Footer(const Footer&) = delete;  // entries point into these bytes
  Footer& operator=(const Footer&) = delete;

  const std::vector<TableEntry>& entries() const { return entries_; }
  // Decodes the table with this index. Returns DataLoss if the table is malformed or has a page
  // beyond the start of the footer.
  StatusOr<TablePtr> Decode(size_t number) const;
  // Approximate memory use in bytes.
  size_t memory_bytes() const {
    return sizeof(*this) + bytes_.capacity() + entries_.capacity() * sizeof(TableEntry);
  }

 private:
  Footer(std::string bytes, uint64_t end) : bytes_(std::move(bytes)), end_(end) {}
  Status ReadIndex();

  const std::string bytes_;
  const uint64_t end_;
  std::vector<TableEntry> entries_;
};

}  // namespace pitwall::store
