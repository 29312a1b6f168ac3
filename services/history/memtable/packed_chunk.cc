#include "services/history/memtable/packed_chunk.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "services/base/text/strings.h"
#include "services/codec/blocks/column_codec.h"
#include "services/codec/blocks/zstd_text.h"

namespace pitwall::history {
namespace {

constexpr size_t kPieceBytes = size_t{32} << 10;  // unpacked; reading one column unpacks one piece
constexpr int kLevel = 1;                         // low, because most chunks are read at most once

}  // namespace

StatusOr<std::shared_ptr<MemTableFile>> MemTableFile::Create(
    const std::string& path, const std::shared_ptr<files::DiskFaults>& faults) {
  RETURN_IF_ERROR(files::Remove(path));
  ASSIGN_OR_RETURN(auto file, files::File::Open(path, files::File::Mode::kCreate, faults));
  RETURN_IF_ERROR(files::Remove(path));
  return std::shared_ptr<MemTableFile>(new MemTableFile(std::move(file)));
}

StatusOr<int64_t> MemTableFile::Append(std::string_view bytes) {
  MutexLock lock(&mutex_);
  RETURN_IF_ERROR(file_->WriteAt(end_, bytes));
  const int64_t at = end_;
  end_ += static_cast<int64_t>(bytes.size());
  return at;
}

StatusOr<std::string> MemTableFile::Read(int64_t at, size_t size) const {
  std::string out(size, '\0');
  ASSIGN_OR_RETURN(const size_t got, file_->ReadAt(at, out.data(), size));
  if (got != size)
    return Unavailable(Cat(file_->path(), ": file ends at byte ", at + static_cast<int64_t>(got)));
  return out;
}

void TailRows::AppendTo(size_t width, RowTable* to) const {
  for (const Row& row : rows) {
    to->times.push_back(row.time);
    to->sequences.push_back(row.sequence);
    to->steps.push_back(row.step);
    to->modes.push_back(row.mode);
  }
  const size_t count = rows.size();
  // The loop processes columns in tiles to use every value in a cache line.
  constexpr size_t kTile = 16;
  const size_t before = to->times.size() - count;
  for (std::vector<double>& column : to->values) column.resize(before + count);
  for (size_t first = 0; first < to->columns.size(); first += kTile) {
    const size_t last = std::min(first + kTile, to->columns.size());
    for (size_t row = 0; row < count; ++row) {
      const double* from = cells.data() + row * width;
      for (size_t c = first; c < last; ++c) to->values[c][before + row] = from[to->columns[c]];
    }
  }
}

StatusOr<PackedChunkPtr> PackedChunk::Pack(const TailRows& rows, size_t width) {
  std::shared_ptr<PackedChunk> out(new PackedChunk());
  out->rows_ = rows.rows.size();
  out->width_ = width;
  const size_t column_bytes = out->rows_ * sizeof(double);
  out->columns_of_piece_ = std::max<size_t>(1, kPieceBytes / column_bytes);
  BinaryWriter ints;
  using Row = TailRows::Row;
  std::vector<int64_t> column(out->rows_);
  for (const auto number : {&Row::time, &Row::sequence, &Row::step, &Row::mode}) {
    for (size_t row = 0; row < column.size(); ++row) column[row] = rows.rows[row].*number;
    std::string bytes;
    RETURN_IF_ERROR(blocks::EncodeColumn(column, &bytes));
    ints.Str(bytes);
  }
  out->ints_.bytes = ints.Take();
  out->ints_.size = out->ints_.bytes.size();
  std::string body;
  for (size_t first = 0; first < width; first += out->columns_of_piece_) {
    const size_t last = std::min(first + out->columns_of_piece_, width);
    body.resize((last - first) * column_bytes);
    for (size_t row = 0; row < out->rows_; ++row) {
      const double* from = rows.cells.data() + row * width;
      for (size_t c = first; c < last; ++c) {
        std::memcpy(body.data() + (c - first) * column_bytes + row * sizeof(double), from + c,
                    sizeof(double));
      }
    }
    Piece& piece = out->values_.emplace_back();
    ASSIGN_OR_RETURN(piece.bytes, blocks::Pack(body, kLevel));
    piece.bytes.shrink_to_fit();
    piece.size = piece.bytes.size();
    out->bytes_ += piece.size + sizeof(Piece);
  }
  out->bytes_ += sizeof(PackedChunk) + out->ints_.size;
  return PackedChunkPtr(std::move(out));
}

StatusOr<PackedChunkPtr> PackedChunk::MoveTo(const std::shared_ptr<MemTableFile>& file) const {
  std::string all = ints_.bytes;
  for (const Piece& piece : values_) all += piece.bytes;
  ASSIGN_OR_RETURN(int64_t at, file->Append(all));
  std::shared_ptr<PackedChunk> out(new PackedChunk());
  out->rows_ = rows_;
  out->width_ = width_;
  out->columns_of_piece_ = columns_of_piece_;
  out->file_ = file;
  out->bytes_ = sizeof(PackedChunk) + values_.size() * sizeof(Piece);
  const auto place = [&at](const Piece& piece) {
    const Piece moved = {{}, at, piece.size};
    at += static_cast<int64_t>(piece.size);
    return moved;
  };
  out->ints_ = place(ints_);
  for (const Piece& piece : values_) out->values_.push_back(place(piece));
  return PackedChunkPtr(std::move(out));
}

StatusOr<std::string> PackedChunk::BytesOf(const Piece& piece) const {
  if (file_ == nullptr) return piece.bytes;
  return file_->Read(piece.at, piece.size);
}

Status PackedChunk::AppendTo(RowTable* to) const {
  ASSIGN_OR_RETURN(const std::string ints, BytesOf(ints_));
  BinaryReader in(ints);
  for (auto* column : {&to->times, &to->sequences, &to->steps, &to->modes})
    RETURN_IF_ERROR(blocks::DecodeColumn(in.StrView(), column));
  const size_t column_bytes = rows_ * sizeof(double);
  std::string body;
  size_t unpacked = SIZE_MAX;  // index of the unpacked piece in `body`
  for (size_t i = 0; i < to->columns.size(); ++i) {
    const size_t piece = to->columns[i] / columns_of_piece_;
    if (piece != unpacked) {
      ASSIGN_OR_RETURN(const std::string packed, BytesOf(values_[piece]));
      ASSIGN_OR_RETURN(body, blocks::Unpack(packed, columns_of_piece_ * column_bytes, "head"));
      unpacked = piece;
    }
    const size_t at = (to->columns[i] - piece * columns_of_piece_) * column_bytes;
    std::vector<double>& values = to->values[i];
    values.resize(values.size() + rows_);
    std::memcpy(values.data() + values.size() - rows_, body.data() + at, column_bytes);
  }
  return OkStatus();
}

}  // namespace pitwall::history
