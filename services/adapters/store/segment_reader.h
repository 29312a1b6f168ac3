// Reads one finished segment. Thread-safe: each call has buffers of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/adapters/files/file.h"
#include "services/adapters/store/segment_footer.h"
#include "services/base/status.h"
#include "services/codec/blocks/block_decoder.h"

namespace pitwall::store {

class SegmentReader {
 public:
  // DataLoss names the path and what is damaged; NotFound.
  static StatusOr<std::unique_ptr<SegmentReader>> Open(const std::string& path);

  int version() const { return version_; }
  // What is known of the tables without decoding them.
  const std::vector<TableEntry>& entries() const { return footer_->entries(); }
  // The table of that number, as long as the reader lives. DataLoss: its description is malformed.
  StatusOr<TablePtr> TableAt(size_t number) const;
  uint32_t footer_crc() const { return footer_crc_; }
  // About what is kept in memory.
  size_t memory_bytes() const { return sizeof(*this) + footer_->memory_bytes(); }

  // Append all rows of one column of one group. DataLoss: its page is damaged. The table must be
  // one of TableAt, the column of that type.
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
  // Is called with each damaged page that a read meets, in the reading thread. Set before others
  // read.
  void OnDamage(std::function<void(const Status&)> call) { on_damage_ = std::move(call); }
  // Reads every page: OK, or the first that is damaged.
  Status CheckAll() const;

 private:
  SegmentReader(std::shared_ptr<files::File> file, std::unique_ptr<const Footer> footer,
                int version, uint32_t crc)
      : file_(std::move(file)), footer_(std::move(footer)), version_(version), footer_crc_(crc) {}
  StatusOr<std::string> ReadPage(const RowGroup& group, size_t column) const;
  Status Rows(size_t got, const RowGroup& group, size_t column) const;

  const std::shared_ptr<files::File> file_;
  const std::unique_ptr<const Footer> footer_;
  const int version_;
  const uint32_t footer_crc_;
  std::function<void(const Status&)> on_damage_;
};

}  // namespace pitwall::store
