// Format of records in a segment: batches of a 64-byte header and a payload, both with CRC32C, the
// payload zstd or plain.
//
//   0 magic "PWB1"   4 crc of 8..63   8 base offset   16 commit sequence   24 time of first   32
//   time of last
//  40 last offset - base   44 records   48 stored bytes   52 raw bytes   56 crc of the stored
//  payload   60 flags
//
// All little-endian. A record: varint offset - base, zigzag time - time of first, flags, key,
// value, [headers].
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "services/base/status.h"
#include "services/io/io.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace pitwall::log {

inline constexpr size_t kBatchHeaderBytes = 64;
inline constexpr size_t kBatchTargetBytes = size_t{256}
                                            << 10;  // a batch is closed when it holds this much
inline constexpr size_t kLargestRecordBytes = size_t{16} << 20;  // key + value + headers
inline constexpr size_t kMaxHeaders = 1024;
// One largest record and what frames it; also the bound of what a reader allocates for a header's
// word.
inline constexpr size_t kMaxBatchBytes =
    kLargestRecordBytes + kBatchTargetBytes + (size_t{64} << 10);

struct BatchHeader {
  int64_t base_offset = 0;
  uint64_t sequence = 0;
  int64_t first_time_ns = 0;
  int64_t last_time_ns = 0;
  uint32_t last_delta = 0;
  uint32_t count = 0;
  uint32_t stored_bytes = 0;
  uint32_t raw_bytes = 0;
  uint32_t payload_crc = 0;
  bool compressed = false;

  int64_t last_offset() const { return base_offset + last_delta; }
};

// What a header says, if it is one: magic, CRC and bounds hold.
std::optional<BatchHeader> ParseBatchHeader(std::string_view bytes);
inline constexpr std::string_view kBatchMagic = "PWB1";

// A record inside a batch's payload; valid while the payload is.
struct RecordView {
  int64_t offset = 0;
  int64_t append_time_ns = 0;
  std::string_view key;
  std::string_view value;
  std::string_view headers;  // as encoded
  bool tombstone = false;
};

// key + value + headers: what the limit counts.
size_t RecordBytes(const OutgoingRecord& record);

// Collects records of growing offsets and makes batches of them. Not thread-safe.
class BatchBuilder {
 public:
  BatchBuilder();
  ~BatchBuilder();
  BatchBuilder(const BatchBuilder&) = delete;
  BatchBuilder& operator=(const BatchBuilder&) = delete;

  void Add(int64_t offset, int64_t append_time_ns, const OutgoingRecord& record);
  void Add(const RecordView& record);
  bool empty() const { return count_ == 0; }
  bool full() const { return raw_.size() >= kBatchTargetBytes; }
  // True when a record of that size and offset cannot join the batch.
  bool WouldOverflow(size_t record_bytes, int64_t offset) const {
    return !empty() && (raw_.size() + record_bytes > kMaxBatchBytes - (size_t{64} << 10) ||
                        offset - base_offset_ > INT32_MAX);
  }
  void Clear();  // forgets what was added
  // Appends the batch to `out` and begins a new one. Not when empty.
  void Finish(uint64_t sequence, bool compress, std::string* out);

 private:
  struct FreeContext {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  void Begin(int64_t offset, int64_t append_time_ns, bool tombstone, bool has_headers);

  std::string raw_;
  std::string compressed_;
  std::unique_ptr<ZSTD_CCtx_s, FreeContext> zstd_;
  int64_t base_offset_ = 0;
  int64_t last_offset_ = 0;
  int64_t first_time_ns_ = 0;
  int64_t last_time_ns_ = 0;
  uint32_t count_ = 0;
};

// Walks through one batch. Not thread-safe; reuses its memory from batch to batch.
class BatchDecoder {
 public:
  BatchDecoder();
  ~BatchDecoder();
  BatchDecoder(const BatchDecoder&) = delete;
  BatchDecoder& operator=(const BatchDecoder&) = delete;

  // `stored` must stay until the batch is done. DataLoss: CRC, decompression.
  Status Open(const BatchHeader& header, std::string_view stored);
  bool more() const { return left_ > 0; }
  void Close() { left_ = 0; }
  // DataLoss: the payload does not parse; the rest of the batch is unreadable.
  Status Next(RecordView* record);

 private:
  struct FreeContext {
    void operator()(ZSTD_DCtx_s* context) const;
  };
  BatchHeader header_;
  std::string scratch_;
  std::unique_ptr<ZSTD_DCtx_s, FreeContext> zstd_;
  std::string_view payload_;
  size_t at_ = 0;
  uint32_t left_ = 0;
  int64_t previous_offset_ = 0;
};

// The encoded headers of a view as the interface has them. False when they do not parse.
bool DecodeHeaders(std::string_view encoded, Headers* headers);

}  // namespace pitwall::log
