// Reads one finished segment. Thread-safe: each call has buffers of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "services/adapters/files/file.h"
#include "services/adapters/store/segment_footer.h"
#include "services/base/status.h"
#include "services/codec/blocks/block_decoder.h"

namespace pitwall::store {

class SegmentReader {
 public:
  // DataLoss names the path and what is damaged; NotFound. `summaries`: of the values in each page.
  static StatusOr<std::unique_ptr<SegmentReader>> Open(const std::string& path,
                                                       bool summaries = false);

  const std::vector<Table>& tables() const { return tables_; }
  uint32_t footer_crc() const { return footer_crc_; }
  // About what tables() takes.
  size_t memory_bytes() const;

  // Append all rows of one column of one group. DataLoss: its page is damaged. Indexes must be
  // those of tables(), the column of that type.
  Status ReadInts(const Table& table, size_t group, size_t column, std::vector<int64_t>* out) const;
  Status ReadValues(const Table& table, size_t group, size_t column, blocks::BlockDecoder* decoder,
                    std::vector<double>* out) const;
  Status ReadTexts(const Table& table, size_t group, size_t column,
                   std::vector<std::string>* out) const;
  // The same as distinct texts, and appends which of them each row has.
  Status ReadTexts(const Table& table, size_t group, size_t column,
                   std::vector<std::string>* distinct, std::vector<int64_t>* indexes) const;
  // The rows of a page of texts whose place is known, without the file's footer. NotFound: no such
  // file. DataLoss: the page is damaged.
  static StatusOr<std::vector<std::string>> ReadTextPage(const std::string& path, const Page& page);
  // Reads every page: OK, or the first that is damaged.
  Status CheckAll() const;

 private:
  SegmentReader(std::shared_ptr<files::File> file, std::vector<Table> tables, uint32_t crc)
      : file_(std::move(file)), tables_(std::move(tables)), footer_crc_(crc) {}
  StatusOr<std::string> ReadPage(const RowGroup& group, size_t column) const;
  Status Rows(size_t got, const RowGroup& group, size_t column) const;

  const std::shared_ptr<files::File> file_;
  const std::vector<Table> tables_;
  const uint32_t footer_crc_;
};

}  // namespace pitwall::store
