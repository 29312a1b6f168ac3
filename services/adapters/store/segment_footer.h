// What a segment of the history holds: tables of columns, and where each page lies.
//
//   "PWHS" u32 version | pages | footer, zstd | u64 offset of the footer | u32 bytes | u32 CRC-32C
//   | "PWHE"
//
// Numbers are little-endian. A page is one column of one group of rows. The footer has the CRC-32C
// of each page, and the trailer that of the footer: a flipped bit anywhere is found when it is
// read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"

namespace pitwall::store {

// Each version has forms of blocks and columns that the one before has not; all are read.
inline constexpr std::string_view kSegmentHead("PWHS\x03\0\0\0", 8);
inline constexpr std::string_view kSecondSegmentHead("PWHS\x02\0\0\0", 8);
inline constexpr std::string_view kFirstSegmentHead("PWHS\x01\0\0\0", 8);
inline constexpr std::string_view kSegmentEnd = "PWHE";
inline constexpr size_t kHeadBytes = 8;
inline constexpr size_t kTrailerBytes = 20;
// Bounds of what a reader takes.
inline constexpr size_t kMaxFooterBytes = size_t{256} << 20;
inline constexpr size_t kMaxPageBytes = size_t{64} << 20;
inline constexpr size_t kMaxGroupRows = 4096;  // as many as a block has values

// Numbers are in files: never reuse one.
enum class TableKind : uint8_t { kSamples = 1, kRollup = 2, kSpans = 3, kEvents = 4 };
enum class ColumnType : uint8_t { kInt = 1, kValue = 2, kText = 3 };

struct Page {
  uint64_t offset = 0;
  uint32_t bytes = 0;
  uint32_t crc = 0;
};

// Of the values that are there; with none, all but `count` are 0. NaN counts and makes `sum` NaN,
// and is neither least nor most.
struct ValueSummary {
  double min = 0;
  double max = 0;
  double sum = 0;
  double last = 0;
  uint32_t count = 0;
};

// Rows that were added together. The first column of a table is its time, in ns.
struct RowGroup {
  uint32_t rows = 0;
  int64_t first_ns = 0;     // least time
  int64_t last_ns = 0;      // greatest time
  std::vector<Page> pages;  // one for each column
  // As many, for those of values; empty where they were not asked for.
  std::vector<ValueSummary> summaries;
};

struct Table {
  TableKind kind = TableKind::kSamples;
  std::string key;  // what the rows are of; its layout belongs to whoever writes it
  std::vector<ColumnType> columns;
  std::vector<RowGroup> groups;
};

// Uncompressed.
std::string EncodeFooter(const std::vector<Table>& tables);
// DataLoss: malformed, or a page beyond `end`, the offset of the footer. Without `summaries` it
// takes a third of the memory.
StatusOr<std::vector<Table>> DecodeFooter(std::string_view bytes, uint64_t end, bool summaries);

}  // namespace pitwall::store
