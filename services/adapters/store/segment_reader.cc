#include "services/adapters/store/segment_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "services/base/binary.h"
#include "services/base/cancellation.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/codec/blocks/column_codec.h"
#include "services/codec/blocks/zstd_text.h"

namespace pitwall::store {
namespace {

uint64_t Little(const char* bytes, int count) {
  uint64_t out = 0;
  for (int i = count - 1; i >= 0; --i) out = out << 8 | static_cast<uint8_t>(bytes[i]);
  return out;
}

}  // namespace

StatusOr<std::unique_ptr<SegmentReader>> SegmentReader::Open(const std::string& path) {
  ASSIGN_OR_RETURN(auto file, files::File::Open(path, files::File::Mode::kRead));
  ASSIGN_OR_RETURN(const int64_t size, file->Size());
  const auto read = [&](uint64_t at, size_t bytes) -> StatusOr<std::string> {
    std::string out(bytes, '\0');
    ASSIGN_OR_RETURN(const size_t got, file->ReadAt(static_cast<int64_t>(at), out.data(), bytes));
    if (got != bytes) return DataLoss(Cat(path, ": ends unexpectedly at byte ", at + got));
    return out;
  };
  if (size < static_cast<int64_t>(kHeadBytes + kTrailerBytes)) {
    return DataLoss(Cat(path, ": truncated to ", size, " bytes, smaller than an empty segment"));
  }
  ASSIGN_OR_RETURN(const std::string head, read(0, kHeadBytes));
  const uint64_t version = Little(head.data() + kSegmentMagic.size(), 4);
  if (!StartsWith(head, kSegmentMagic)) return DataLoss(Cat(path, ": not a segment"));
  if (version != kSegmentVersion) {
    return absl::UnimplementedError(Cat(path, ": segment format ", version,
                                        " is not supported; this version of Pitwall reads format ",
                                        kSegmentVersion));
  }
  const uint64_t trailer_at = static_cast<uint64_t>(size) - kTrailerBytes;
  ASSIGN_OR_RETURN(const std::string trailer, read(trailer_at, kTrailerBytes));
  const uint64_t at = Little(trailer.data(), 8);
  const uint64_t bytes = Little(trailer.data() + 8, 4);
  const auto crc = static_cast<uint32_t>(Little(trailer.data() + 12, 4));
  if (trailer.substr(16) != kSegmentEnd || at < kHeadBytes || at > trailer_at ||
      bytes != trailer_at - at) {
    return DataLoss(Cat(path, ": the trailer is damaged"));
  }
  ASSIGN_OR_RETURN(const std::string packed, read(at, bytes));
  if (Crc32c(packed) != crc) return DataLoss(Cat(path, ": the footer is damaged (CRC mismatch)"));
  ASSIGN_OR_RETURN(std::string footer, blocks::Unpack(packed, kMaxFooterBytes, path + ": footer"));
  auto read_footer = Footer::Read(std::move(footer), at);
  if (!read_footer.ok()) return Annotate(read_footer.status(), path);
  return std::unique_ptr<SegmentReader>(
      new SegmentReader(std::move(file), *std::move(read_footer), crc));
}

StatusOr<TablePtr> SegmentReader::TableAt(size_t number) const {
  StatusOr<TablePtr> table = footer_->Decode(number);
  if (!table.ok()) return Annotate(table.status(), file_->path());
  return table;
}

namespace {

StatusOr<std::string> PageOf(const files::File& file, const Page& page) {
  std::string out(page.bytes, '\0');
  ASSIGN_OR_RETURN(const size_t got,
                   file.ReadAt(static_cast<int64_t>(page.offset), out.data(), out.size()));
  if (got != out.size() || Crc32c(out) != page.crc) {
    return DataLoss(Cat(file.path(), ": the page at ", page.offset, " is damaged (CRC mismatch)"));
  }
  return out;
}

// Reads the distinct texts and appends the index of each row's text.
Status DecodeTexts(const std::string& page, const std::string& path,
                   std::vector<std::string>* distinct, std::vector<int64_t>* indexes) {
  ASSIGN_OR_RETURN(const std::string body, blocks::Unpack(page, kMaxPageBytes, path + ": texts"));
  BinaryReader in(body);
  distinct->assign(in.Count(), {});
  for (std::string& text : *distinct) text = in.Str();
  const std::string_view column_bytes = in.StrView();
  RETURN_IF_ERROR(Annotate(in.Finish("texts"), path));
  const size_t before = indexes->size();
  RETURN_IF_ERROR(Annotate(blocks::DecodeColumn(column_bytes, indexes), path));
  for (size_t i = before; i < indexes->size(); ++i) {
    const int64_t index = (*indexes)[i];
    if (index < 0 || index >= static_cast<int64_t>(distinct->size()))
      return DataLoss(Cat(path, ": text index ", index, " is out of range (", distinct->size(),
                          " distinct texts)"));
  }
  return OkStatus();
}

// Returns one text per row. Texts used by a single row are moved, because they may be long.
void TakeTexts(std::vector<std::string> distinct, const std::vector<int64_t>& indexes,
               std::vector<std::string>* out) {
  out->reserve(out->size() + indexes.size());
  const bool once = distinct.size() == indexes.size() &&
                    std::is_sorted(indexes.begin(), indexes.end(), std::less_equal<>());
  for (const int64_t index : indexes) {
    std::string& text = distinct[static_cast<size_t>(index)];
    out->push_back(once ? std::move(text) : text);
  }
}

}  // namespace

StatusOr<std::string> SegmentReader::ReadPage(const RowGroup& group, size_t column) const {
  RETURN_IF_ERROR(CheckCanceled());
  StatusOr<std::string> page = PageOf(*file_, group.pages[column]);
  if (absl::IsDataLoss(page.status()) && on_damage_ != nullptr) on_damage_(page.status());
  return page;
}

StatusOr<std::vector<std::string>> SegmentReader::ReadTextPage(const std::string& path,
                                                               const Page& page) {
  ASSIGN_OR_RETURN(const auto file, files::File::Open(path, files::File::Mode::kRead));
  ASSIGN_OR_RETURN(const std::string bytes, PageOf(*file, page));
  std::vector<std::string> distinct;
  std::vector<int64_t> indexes;
  RETURN_IF_ERROR(DecodeTexts(bytes, path, &distinct, &indexes));
  std::vector<std::string> out;
  TakeTexts(std::move(distinct), indexes, &out);
  return out;
}

template <typename Value, typename Decode>
Status SegmentReader::ReadColumn(const Table& table, size_t group, size_t column,
                                 std::vector<Value>* out, const Decode& decode) const {
  const RowGroup& rows = table.groups[group];
  ASSIGN_OR_RETURN(const std::string page, ReadPage(rows, column));
  const size_t before = out->size();
  RETURN_IF_ERROR(decode(page));
  if (out->size() - before == rows.rows) return OkStatus();
  return DataLoss(Cat(file_->path(), ": the page at ", rows.pages[column].offset, " has ",
                      out->size() - before, " rows instead of ", rows.rows));
}

Status SegmentReader::ReadInts(const Table& table, size_t group, size_t column,
                               std::vector<int64_t>* out) const {
  return ReadColumn(table, group, column, out, [&](const std::string& page) {
    return Annotate(blocks::DecodeColumn(page, out), file_->path());
  });
}

Status SegmentReader::ReadValues(const Table& table, size_t group, size_t column,
                                 blocks::BlockDecoder* decoder, std::vector<double>* out) const {
  return ReadColumn(table, group, column, out, [&](const std::string& page) {
    return Annotate(decoder->Decode(page, out), file_->path());
  });
}

Status SegmentReader::ReadTexts(const Table& table, size_t group, size_t column,
                                std::vector<std::string>* distinct,
                                std::vector<int64_t>* indexes) const {
  return ReadColumn(table, group, column, indexes, [&](const std::string& page) {
    return DecodeTexts(page, file_->path(), distinct, indexes);
  });
}

Status SegmentReader::ReadTexts(const Table& table, size_t group, size_t column,
                                std::vector<std::string>* out) const {
  std::vector<std::string> distinct;
  std::vector<int64_t> indexes;
  RETURN_IF_ERROR(ReadTexts(table, group, column, &distinct, &indexes));
  TakeTexts(std::move(distinct), indexes, out);
  return OkStatus();
}

Status SegmentReader::CheckAll() const {
  blocks::BlockDecoder decoder;
  for (size_t number = 0; number < entries().size(); ++number) {
    ASSIGN_OR_RETURN(const TablePtr table, TableAt(number));
    for (size_t g = 0; g < table->groups.size(); ++g) {
      for (size_t c = 0; c < table->columns.size(); ++c) {
        std::vector<int64_t> ints;
        std::vector<double> values;
        std::vector<std::string> texts;
        if (table->columns[c] == ColumnType::kInt) {
          RETURN_IF_ERROR(ReadInts(*table, g, c, &ints));
        } else if (table->columns[c] == ColumnType::kValue) {
          RETURN_IF_ERROR(ReadValues(*table, g, c, &decoder, &values));
        } else {
          RETURN_IF_ERROR(ReadTexts(*table, g, c, &texts));
        }
      }
    }
  }
  return OkStatus();
}

}  // namespace pitwall::store
