#include "services/adapters/store/segment_writer.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "services/base/binary.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/codec/blocks/column_codec.h"
#include "services/codec/blocks/zstd_text.h"

namespace pitwall::store {
namespace {

constexpr size_t kBufferBytes = 1 << 20;

std::string PartPath(const std::string& path) { return path + ".part"; }

size_t RowsOf(const ColumnRows& rows) {
  return std::visit([](const auto& column) { return column.size(); }, rows);
}

// Writes the distinct texts, then one index per row.
Status EncodeTexts(std::span<const std::string> texts, std::string* out) {
  BinaryWriter table;
  std::unordered_map<std::string_view, int64_t> places;
  std::vector<std::string_view> distinct;
  std::vector<int64_t> indexes;
  for (const std::string& text : texts) {
    const auto [it, added] = places.try_emplace(text, static_cast<int64_t>(distinct.size()));
    if (added) distinct.emplace_back(text);
    indexes.push_back(it->second);
  }
  table.U64(distinct.size());
  for (const std::string_view text : distinct) table.Str(text);
  std::string column;
  RETURN_IF_ERROR(blocks::EncodeColumn(indexes, &column));
  table.Str(column);
  ASSIGN_OR_RETURN(*out, blocks::Pack(table.data()));
  return OkStatus();
}

}  // namespace

SegmentWriter::SegmentWriter(std::string path, std::shared_ptr<files::File> file)
    : path_(std::move(path)), file_(std::move(file)), buffer_(kSegmentHead) {}

SegmentWriter::~SegmentWriter() { Abandon(); }

StatusOr<std::unique_ptr<SegmentWriter>> SegmentWriter::Create(
    std::string path, std::shared_ptr<files::DiskFaults> faults) {
  RETURN_IF_ERROR(files::Remove(PartPath(path)));
  ASSIGN_OR_RETURN(
      auto file, files::File::Open(PartPath(path), files::File::Mode::kCreate, std::move(faults)));
  return std::unique_ptr<SegmentWriter>(new SegmentWriter(std::move(path), std::move(file)));
}

StatusOr<size_t> SegmentWriter::AddTable(TableKind kind, std::string key,
                                         std::vector<ColumnType> columns) {
  if (columns.empty() || columns[0] != ColumnType::kInt) {
    return InvalidArgument(Cat(path_, ": table ", tables_.size(), " has no time column"));
  }
  if (columns.size() > kMaxColumns) {
    return InvalidArgument(
        Cat(path_, ": a table has ", columns.size(), " columns; the limit is ", kMaxColumns));
  }
  tables_.push_back({kind, std::move(key), std::move(columns), {}});
  return tables_.size() - 1;
}

Status SegmentWriter::Flush() {
  RETURN_IF_ERROR(file_->WriteAt(static_cast<int64_t>(at_), buffer_));
  at_ += buffer_.size();
  buffer_.clear();
  return OkStatus();
}

Status SegmentWriter::Put(const std::string& page, Page* place) {
  if (page.size() > kMaxPageBytes) {
    return InvalidArgument(
        Cat(path_, ": a page is ", page.size(), " bytes; the limit is ", kMaxPageBytes));
  }
  *place = {bytes(), static_cast<uint32_t>(page.size()), Crc32c(page)};
  buffer_ += page;
  return buffer_.size() >= kBufferBytes ? Flush() : OkStatus();
}

Status SegmentWriter::EncodeRows(ColumnType type, const ColumnRows& rows, blocks::FormHint* hint,
                                 Page* page) {
  page_.clear();
  if (type == ColumnType::kInt) {
    RETURN_IF_ERROR(blocks::EncodeColumn(std::get<0>(rows), &page_, blocks::ColumnEffort::kSmall));
  } else if (type == ColumnType::kValue) {
    RETURN_IF_ERROR(encoder_.Encode(std::get<1>(rows), hint, &page_));
  } else {
    RETURN_IF_ERROR(EncodeTexts(std::get<2>(rows), &page_));
  }
  return Put(page_, page);
}

Status SegmentWriter::AddRows(size_t table, std::span<const ColumnRows> columns,
                              blocks::FormHint* hints) {
  Table& to = tables_[table];
  if (columns.size() != to.columns.size()) {
    return InvalidArgument(Cat(path_, ": got ", columns.size(), " columns for a table with ",
                               to.columns.size(), " columns"));
  }
  const size_t rows = RowsOf(columns[0]);
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].index() + 1 != static_cast<size_t>(to.columns[i]) ||
        RowsOf(columns[i]) != rows) {
      return InvalidArgument(Cat(path_, ": column ", i, " has a different type or length"));
    }
  }
  if (rows == 0 || rows > kMaxGroupRows) {
    return InvalidArgument(
        Cat(path_, ": a group must have 1 to ", kMaxGroupRows, " rows (got ", rows, ")"));
  }
  RowGroup group;
  group.rows = static_cast<uint32_t>(rows);
  const auto times = std::get<0>(columns[0]);
  const auto [least, greatest] = std::minmax_element(times.begin(), times.end());
  group.first_ns = *least;
  group.last_ns = *greatest;
  group.pages.resize(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    RETURN_IF_ERROR(EncodeRows(to.columns[i], columns[i], hints == nullptr ? nullptr : &hints[i],
                               &group.pages[i]));
  }
  to.groups.push_back(std::move(group));
  return OkStatus();
}

StatusOr<SegmentFile> SegmentWriter::Finish() {
  const std::string footer = EncodeFooter(tables_);
  if (footer.size() > kMaxFooterBytes) {
    return ResourceExhausted(
        Cat(path_, ": the footer is ", footer.size(), " bytes; the limit is ", kMaxFooterBytes));
  }
  ASSIGN_OR_RETURN(const std::string packed, blocks::Pack(footer));
  SegmentFile out;
  out.footer_crc = Crc32c(packed);
  const auto put = [this](uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) buffer_.push_back(static_cast<char>(value >> (8 * i)));
  };
  const uint64_t offset = bytes();
  buffer_ += packed;
  put(offset, 8);
  put(packed.size(), 4);
  put(out.footer_crc, 4);
  buffer_ += kSegmentEnd;
  RETURN_IF_ERROR(Flush());
  RETURN_IF_ERROR(file_->Sync());
  out.bytes = at_;
  RETURN_IF_ERROR(files::Rename(PartPath(path_), path_));
  file_ = nullptr;  // already finished, so there is nothing to discard
  RETURN_IF_ERROR(files::SyncDirectory(path_.substr(0, path_.rfind('/'))));
  return out;
}

void SegmentWriter::Abandon() {
  if (file_ == nullptr) return;
  file_ = nullptr;
  (void)files::Remove(
      PartPath(path_));  // the next start replaces or removes a remaining partial file
}

}  // namespace pitwall::store
