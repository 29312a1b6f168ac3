// Writer for one history segment. A segment appears under its name only when it is complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "services/adapters/files/file.h"
#include "services/adapters/store/segment_footer.h"
#include "services/base/status.h"
#include "services/codec/blocks/block_encoder.h"

namespace pitwall::store {

// Rows for one column. The alternatives follow the order of ColumnType.
using ColumnRows =
    std::variant<std::span<const int64_t>, std::span<const double>, std::span<const std::string>>;

// Description of a finished segment.
struct SegmentFile {
  uint64_t bytes = 0;
  uint32_t footer_crc = 0;
};

// Not thread-safe. After an error, only Abandon may be called; the destructor also calls it.
class SegmentWriter {
 public:
  // Writes to `path` + ".part" until Finish. Replaces an old partial file.
  static StatusOr<std::unique_ptr<SegmentWriter>> Create(
      std::string path, std::shared_ptr<files::DiskFaults> faults = nullptr);
  ~SegmentWriter();
  SegmentWriter(const SegmentWriter&) = delete;
  SegmentWriter& operator=(const SegmentWriter&) = delete;

  // Adds an empty table and returns its index. Returns InvalidArgument if the first column is not
  // kInt (times in ns) or there are more than kMaxColumns columns.
  StatusOr<size_t> AddTable(TableKind kind, std::string key, std::vector<ColumnType> columns);
  // Adds 1 to kMaxGroupRows rows to each column of the table. Returns InvalidArgument if the
  // columns do not match the table or differ in length. `hints` contains one entry per column, or
  // is null.
  Status AddRows(size_t table, std::span<const ColumnRows> columns, blocks::FormHint* hints);
  const Table& table(size_t index) const { return tables_[index]; }
  // Returns the size of the file with all groups added so far.
  uint64_t bytes() const { return at_ + buffer_.size(); }

  // Writes the footer, flushes the file, renames it, and flushes the directory.
  StatusOr<SegmentFile> Finish();
  // Removes the partial file. Has no effect after Finish.
  void Abandon();

 private:
  SegmentWriter(std::string path, std::shared_ptr<files::File> file);
  Status Put(const std::string& page, Page* place);
  Status Flush();
  Status EncodeRows(ColumnType type, const ColumnRows& rows, blocks::FormHint* hint, Page* page);

  const std::string path_;
  std::shared_ptr<files::File> file_;
  std::string buffer_;
  uint64_t at_ = 0;  // bytes written to the file so far
  std::vector<Table> tables_;
  blocks::BlockEncoder encoder_;
  std::string page_;
};

}  // namespace pitwall::store
