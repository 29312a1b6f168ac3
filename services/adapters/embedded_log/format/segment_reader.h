// Reads the batches of one segment file in blocks, and finds its way again after damage.
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
inline constexpr int64_t kSegmentHeaderBytes = 16;  // magic, base offset
std::string SegmentHeader(int64_t base_offset);

// A part of the file that holds no readable batch.
struct DamagedPart {
  int64_t from = 0;
  int64_t to = 0;
  std::string reason;
};

// Not thread-safe; one per reader. Bytes below the limit never change, so what it has buffered
// stays right.
class SegmentReader {
 public:
  enum class Step { kBatch, kEnd, kDamage };

  // `from`: position of a batch, or kSegmentHeaderBytes. `limit`: the committed size of the file.
  // `end_offset`: the first offset that its batches cannot have, where that is known.
  SegmentReader(std::shared_ptr<const files::File> file, int64_t from, int64_t limit,
                int64_t end_offset = INT64_MAX);

  // Moves to the next batch: kBatch, then header() and at() are its; kEnd at the limit; kDamage,
  // then damage() says what cannot be read, and the next call goes on behind it. An error is the
  // disk's.
  StatusOr<Step> Next();
  const BatchHeader& header() const { return header_; }
  int64_t at() const { return at_; }          // where the batch begins
  int64_t position() const { return next_; }  // where the next one begins
  const DamagedPart& damage() const { return damage_; }

  // The stored payload of the batch; valid until the next call of any method. Shorter than it
  // should be only when the file is shorter than its limit.
  StatusOr<std::string_view> Payload();

  int64_t limit() const { return limit_; }
  void set_limit(int64_t limit, int64_t end_offset) {
    limit_ = limit;
    end_offset_ = end_offset;
  }

 private:
  // At least `size` bytes at `position` in the buffer if the file and the limit have them.
  StatusOr<std::string_view> Bytes(int64_t position, size_t size);
  bool Plausible(const BatchHeader& header, int64_t at) const;
  StatusOr<Step> Resynchronize(std::string reason);

  const std::shared_ptr<const files::File> file_;
  int64_t limit_;
  int64_t end_offset_;
  int64_t next_;
  int64_t at_ = 0;
  int64_t least_offset_ = 0;  // offsets only grow
  BatchHeader header_;
  DamagedPart damage_;
  std::string buffer_;  // bytes of the file from buffer_at_ on
  int64_t buffer_at_ = 0;
  size_t block_bytes_;
};

}  // namespace pitwall::log
