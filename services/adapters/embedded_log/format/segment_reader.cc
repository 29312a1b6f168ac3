#include "services/adapters/embedded_log/format/segment_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "services/base/text/strings.h"

namespace pitwall::log {
namespace {
// Block sizes. Blocks grow as a reader advances, so a reader that follows the end of an idle
// partition uses little memory.
constexpr size_t kFirstBlock = size_t{16} << 10;
constexpr size_t kLargestBlock = size_t{256} << 10;
}  // namespace

std::string SegmentHeader(int64_t base_offset) {
  std::string header(kSegmentMagic);
  for (int i = 0; i < 8; ++i) {
    header.push_back(static_cast<char>(static_cast<uint64_t>(base_offset) >> (8 * i)));
  }
  return header;
}

SegmentReader::SegmentReader(std::shared_ptr<const files::File> file, int64_t from, int64_t limit,
                             int64_t end_offset)
    : file_(std::move(file)),
      limit_(limit),
      end_offset_(end_offset),
      next_(from),
      block_bytes_(kFirstBlock) {}

StatusOr<std::string_view> SegmentReader::Bytes(int64_t position, size_t size) {
  const int64_t end = buffer_at_ + static_cast<int64_t>(buffer_.size());
  const int64_t wanted =
      std::max<int64_t>(std::min<int64_t>(static_cast<int64_t>(size), limit_ - position), 0);
  if (position < buffer_at_ || position + wanted > end) {
    size_t length = std::max(static_cast<size_t>(wanted), block_bytes_);
    length = static_cast<size_t>(
        std::max<int64_t>(std::min<int64_t>(static_cast<int64_t>(length), limit_ - position), 0));
    size_t kept = 0;
    if (position >= buffer_at_ && position < end) {
      buffer_.erase(0, static_cast<size_t>(position - buffer_at_));
      kept = buffer_.size();
    } else if (buffer_.capacity() > 4 * kLargestBlock && length <= kLargestBlock) {
      buffer_ = std::string();  // frees the memory after a huge batch
    }
    buffer_.resize(std::max(length, kept));
    buffer_at_ = position;
    auto got = file_->ReadAt(position + static_cast<int64_t>(kept), buffer_.data() + kept,
                             buffer_.size() - kept);
    buffer_.resize(kept + (got.ok() ? *got : 0));
    if (!got.ok()) return got.status();
    block_bytes_ = std::min(block_bytes_ * 2, kLargestBlock);
  }
  const std::string_view all = buffer_;
  return all.substr(std::min(all.size(), static_cast<size_t>(position - buffer_at_)),
                    static_cast<size_t>(wanted));
}

bool SegmentReader::Plausible(const BatchHeader& header, int64_t at) const {
  return header.base_offset >= least_offset_ && header.last_offset() < end_offset_ &&
         header.stored_bytes <= limit_ - at - static_cast<int64_t>(kBatchHeaderBytes);
}

StatusOr<SegmentReader::Step> SegmentReader::Next() {
  if (next_ >= limit_) return Step::kEnd;
  ASSIGN_OR_RETURN(const std::string_view bytes, Bytes(next_, kBatchHeaderBytes));
  const std::optional<BatchHeader> header = ParseBatchHeader(bytes);
  if (!header.has_value()) {
    return Resynchronize(bytes.size() < kBatchHeaderBytes ? "file ends inside a batch"
                                                          : "no batch header at this position");
  }
  if (!Plausible(*header, next_)) return Resynchronize("implausible batch header");
  header_ = *header;
  at_ = next_;
  next_ = at_ + static_cast<int64_t>(kBatchHeaderBytes) + header_.stored_bytes;
  least_offset_ = header_.last_offset() + 1;
  return Step::kBatch;
}

StatusOr<SegmentReader::Step> SegmentReader::Resynchronize(std::string reason) {
  damage_ = DamagedPart{next_, limit_, std::move(reason)};
  int64_t block_at = next_ + 1;
  bool found = false;
  while (!found) {
    ASSIGN_OR_RETURN(const std::string_view block, Bytes(block_at, kLargestBlock));
    if (block.size() < kBatchHeaderBytes) break;
    for (size_t i = block.find(kBatchMagic);
         i != std::string_view::npos && block.size() - i >= kBatchHeaderBytes;
         i = block.find(kBatchMagic, i + 1)) {
      const std::optional<BatchHeader> header = ParseBatchHeader(block.substr(i));
      const int64_t at = block_at + static_cast<int64_t>(i);
      if (header.has_value() && Plausible(*header, at)) {
        damage_.to = at;
        found = true;
        break;
      }
    }
    // A header may span two blocks.
    block_at += static_cast<int64_t>(block.size() - (kBatchHeaderBytes - 1));
  }
  next_ = damage_.to;
  return Step::kDamage;
}

StatusOr<std::string_view> SegmentReader::Payload() {
  return Bytes(at_ + static_cast<int64_t>(kBatchHeaderBytes), header_.stored_bytes);
}

}  // namespace pitwall::log
