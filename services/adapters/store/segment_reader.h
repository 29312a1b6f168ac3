// Reader for one finished segment. Thread-safe because each call has its own buffers.
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
  // Opens a segment. Returns NotFound if the file does not exist, Unimplemented if it has another
  // format version, and DataLoss if it is damaged. The errors contain the path.
  static StatusOr<std::unique_ptr<SegmentReader>> Open(const std::string& path);

  // Returns the metadata of the tables without decoding them.
  const std::vector<TableEntry>& entries() const { return footer_->entries(); }
  // Returns the table with this index, valid for the lifetime of the reader. Returns DataLoss if
  // its description is malformed.
  StatusOr<TablePtr> TableAt(size_t number) const;
  uint32_t footer_crc() const { return footer_crc_; }
  // Approximate memory use in bytes.
  size_t memory_bytes() const { return sizeof(*this) + footer_->memory_bytes(); }

  // The following functions append all rows for one column in one group. They return DataLoss if
  // the page is damaged. The table must come from TableAt, and the column must have the function's
  // type.
  Status ReadInts(const Table& table, size_t group, size_t column, std::vector<int64_t>* out) const;
  Status ReadValues(const Table& table, size_t group, size_t column, blocks::BlockDecoder* decoder,
                    std::vector<double>* out) const;
  Status ReadTexts(const Table& table, size_t group, size_t column,
                   std::vector<std::string>* out) const;
  // Reads the distinct texts and appends the index of each row's text.
  Status ReadTexts(const Table& table, size_t group, size_t column,
                   std::vector<std::string>* distinct, std::vector<int64_t>* indexes) const;
  // Returns the rows of a text page at a known position without reading the footer. Returns
  // NotFound if the file does not exist, and DataLoss if the page is damaged.
  static StatusOr<std::vector<std::string>> ReadTextPage(const std::string& path, const Page& page);
  // Sets a callback for damaged pages. It runs on the reading thread. Must be set before other
  // threads read.
  void OnDamage(std::function<void(const Status&)> call) { on_damage_ = std::move(call); }
  // Reads every page. Returns OK or the error for the first damaged page.
  Status CheckAll() const;

 private:
  SegmentReader(std::shared_ptr<files::File> file, std::unique_ptr<const Footer> footer,
                uint32_t crc)
      : file_(std::move(file)), footer_(std::move(footer)), footer_crc_(crc) {}
  StatusOr<std::string> ReadPage(const RowGroup& group, size_t column) const;
  // Reads a page with `decode`, and checks the number of rows that it appends to `out`.
  template <typename Value, typename Decode>
  Status ReadColumn(const Table& table, size_t group, size_t column, std::vector<Value>* out,
                    const Decode& decode) const;

  const std::shared_ptr<files::File> file_;
  const std::unique_ptr<const Footer> footer_;
  const uint32_t footer_crc_;
  std::function<void(const Status&)> on_damage_;
};

}  // namespace pitwall::store
