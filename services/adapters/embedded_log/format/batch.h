// Record format in a segment: batches with a 64-byte header and a payload. Both have a CRC32C. The
// payload is either compressed with zstd or uncompressed.
//
//   0 magic "PWB1"   4 crc of 8..63   8 base offset   16 commit sequence   24 first append time
//  32 last append time   40 last offset - base   44 record count   48 stored bytes   52 raw bytes
//  56 crc of the stored payload   60 flags
//
// All integers are little-endian. Each record has: varint offset - base, zigzag time - first time,
// flags, key, value, [headers].
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
inline constexpr size_t kBatchTargetBytes = size_t{256} << 10;   // size at which a batch is closed
inline constexpr size_t kLargestRecordBytes = size_t{16} << 20;  // key + value + headers
inline constexpr size_t kMaxHeaders = 1024;
// Maximum size of a batch: one record of maximum size and its framing. This also limits the memory
// that a reader allocates based on an untrusted header.
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

// Parses a batch header. Returns nothing if the magic or the CRC is wrong, or a field is out of
// range.
std::optional<BatchHeader> ParseBatchHeader(std::string_view bytes);
inline constexpr std::string_view kBatchMagic = "PWB1";

// View of a record in a batch payload. Valid for as long as the payload is.
struct RecordView {
  int64_t offset = 0;
  int64_t append_time_ns = 0;
  std::string_view key;
  std::string_view value;
  std::string_view headers;  // encoded
  bool tombstone = false;
};

// Returns the total size of the key, value, and headers in bytes. The record limit applies to this
// size.
size_t RecordBytes(const OutgoingRecord& record);

// Collects records with increasing offsets into a batch. Not thread-safe.
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
  // Returns true if a record with this size and offset does not fit into the batch.
  bool WouldOverflow(size_t record_bytes, int64_t offset) const {
    return !empty() && (raw_.size() + record_bytes > kMaxBatchBytes - (size_t{64} << 10) ||
                        offset - base_offset_ > INT32_MAX);
  }
  void Clear();  // discards the added records
  // Appends the batch to `out` and starts a new one. The batch must not be empty.
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

// Decoder for batches, one at a time. Reuses its memory across batches. Not thread-safe.
class BatchDecoder {
 public:
  BatchDecoder();
  ~BatchDecoder();
  BatchDecoder(const BatchDecoder&) = delete;
  BatchDecoder& operator=(const BatchDecoder&) = delete;

  // Starts a batch. `stored` must stay valid until the batch is decoded. Returns DataLoss if the
  // CRC is wrong or decompression fails.
  Status Open(const BatchHeader& header, std::string_view stored);
  bool more() const { return left_ > 0; }
  void Close() { left_ = 0; }
  // Returns the next record. Returns DataLoss if the payload does not parse; the rest of the batch
  // is then unreadable.
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

// Decodes the headers of a record view. Returns false if they do not parse.
bool DecodeHeaders(std::string_view encoded, Headers* headers);

}  // namespace pitwall::log
