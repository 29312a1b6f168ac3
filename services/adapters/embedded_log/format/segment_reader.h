// Batch reader for one segment file. It reads in blocks and resynchronizes after damage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "services/adapters/embedded_log/format/batch.h"
#include "services/adapters/files/file.h"
#include "services/base/status.h"

namespace pitwall::log {

inline constexpr std::string_view kSegmentMagic = "PWSEG001";
inline constexpr int64_t kSegmentHeaderBytes = 16;  // magic and base offset
std::string SegmentHeader(int64_t base_offset);

// Section of the file without a readable batch.
struct DamagedPart {
  int64_t from = 0;
  int64_t to = 0;
  std::string reason;
};

// Not thread-safe: each reader has its own object. Bytes below the limit never change, so buffered
// data stays valid.
class SegmentReader {
 public:
  enum class Step { kBatch, kEnd, kDamage };

  // `from` is the position of a batch, or kSegmentHeaderBytes. `limit` is the committed size of the
  // file. `end_offset` is the exclusive upper bound for offsets in the batches, if known.
  SegmentReader(std::shared_ptr<const files::File> file, int64_t from, int64_t limit,
                int64_t end_offset = INT64_MAX);

  // Advances to the next batch. After kBatch, header() and at() describe the batch. kEnd means that
  // the limit is reached. After kDamage, damage() describes the unreadable section, and the next
  // call continues after it. An error status indicates a disk error.
  StatusOr<Step> Next();
  const BatchHeader& header() const { return header_; }
  int64_t at() const { return at_; }          // start of the current batch
  int64_t position() const { return next_; }  // start of the next batch
  const DamagedPart& damage() const { return damage_; }

  // Returns the batch's stored payload, valid until the next call of any method. The payload is
  // shorter than stored_bytes only if the file is shorter than its limit.
  StatusOr<std::string_view> Payload();

  int64_t limit() const { return limit_; }
  void set_limit(int64_t limit, int64_t end_offset) {
    limit_ = limit;
    end_offset_ = end_offset;
  }

 private:
  // Returns at least `size` bytes at `position` if the file and the limit allow it.
  StatusOr<std::string_view> Bytes(int64_t position, size_t size);
  bool Plausible(const BatchHeader& header, int64_t at) const;
  StatusOr<Step> Resynchronize(std::string reason);

  const std::shared_ptr<const files::File> file_;
  int64_t limit_;
  int64_t end_offset_;
  int64_t next_;
  int64_t at_ = 0;
  int64_t least_offset_ = 0;  // offsets only increase
  BatchHeader header_;
  DamagedPart damage_;
  std::string buffer_;  // bytes of the file starting at buffer_at_
  int64_t buffer_at_ = 0;
  size_t block_bytes_;
};

}  // namespace pitwall::log
