#include "services/adapters/embedded_log/format/batch.h"

#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "services/base/check.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"

namespace pitwall::log {
namespace {

constexpr uint8_t kTombstone = 1;
constexpr uint8_t kHasHeaders = 2;
constexpr uint32_t kZstd = 1;
constexpr int kZstdLevel = 1;
constexpr size_t kWorthCompressing = 256;

void PutVarint(uint64_t v, std::string* out) {
  while (v >= 0x80) {
    out->push_back(static_cast<char>(v | 0x80));
    v >>= 7;
  }
  out->push_back(static_cast<char>(v));
}

uint64_t Zigzag(int64_t v) {
  return (static_cast<uint64_t>(v) << 1) ^ static_cast<uint64_t>(v >> 63);
}
int64_t Unzigzag(uint64_t v) { return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1); }

void PutString(std::string_view s, std::string* out) {
  PutVarint(s.size(), out);
  out->append(s);
}

bool GetVarint(std::string_view bytes, size_t* at, uint64_t* v) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (*at >= bytes.size()) return false;
    const uint8_t byte = static_cast<uint8_t>(bytes[(*at)++]);
    value |= uint64_t{byte & 0x7fU} << shift;
    if ((byte & 0x80) == 0) {
      *v = value;
      return true;
    }
  }
  return false;
}

bool GetString(std::string_view bytes, size_t* at, std::string_view* s) {
  uint64_t size = 0;
  if (!GetVarint(bytes, at, &size) || size > bytes.size() - *at) return false;
  *s = bytes.substr(*at, size);
  *at += size;
  return true;
}

template <typename T>
void Store(T value, size_t at, char* into) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    into[at + i] = static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
  }
}

template <typename T>
T Load(std::string_view bytes, size_t at) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value |= uint64_t{static_cast<uint8_t>(bytes[at + i])} << (8 * i);
  }
  return static_cast<T>(value);
}

}  // namespace

std::optional<BatchHeader> ParseBatchHeader(std::string_view bytes) {
  if (bytes.size() < kBatchHeaderBytes || bytes.substr(0, 4) != kBatchMagic) return std::nullopt;
  if (Load<uint32_t>(bytes, 4) != Crc32c(bytes.substr(8, kBatchHeaderBytes - 8))) {
    return std::nullopt;
  }
  BatchHeader h;
  h.base_offset = Load<int64_t>(bytes, 8);
  h.sequence = Load<uint64_t>(bytes, 16);
  h.first_time_ns = Load<int64_t>(bytes, 24);
  h.last_time_ns = Load<int64_t>(bytes, 32);
  h.last_delta = Load<uint32_t>(bytes, 40);
  h.count = Load<uint32_t>(bytes, 44);
  h.stored_bytes = Load<uint32_t>(bytes, 48);
  h.raw_bytes = Load<uint32_t>(bytes, 52);
  h.payload_crc = Load<uint32_t>(bytes, 56);
  const uint32_t flags = Load<uint32_t>(bytes, 60);
  h.compressed = (flags & kZstd) != 0;
  const bool sane = h.base_offset >= 0 && h.base_offset <= INT64_MAX / 2 && h.count > 0 &&
                    h.last_delta >= h.count - 1 && h.raw_bytes <= kMaxBatchBytes &&
                    h.stored_bytes <= kMaxBatchBytes && (flags & ~kZstd) == 0 &&
                    (h.compressed || h.stored_bytes == h.raw_bytes);
  if (!sane) return std::nullopt;
  return h;
}

size_t RecordBytes(const OutgoingRecord& record) {
  size_t bytes = record.key.size() + record.value.size();
  for (const auto& [name, value] : record.headers) bytes += name.size() + value.size();
  return bytes;
}

BatchBuilder::BatchBuilder() = default;
BatchBuilder::~BatchBuilder() = default;
void BatchBuilder::FreeContext::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }

void BatchBuilder::Begin(int64_t offset, int64_t append_time_ns, bool tombstone, bool has_headers) {
  if (count_ == 0) {
    base_offset_ = offset;
    first_time_ns_ = append_time_ns;
    last_time_ns_ = append_time_ns;
  }
  PITWALL_CHECK(count_ == 0 || offset > last_offset_);
  last_offset_ = offset;
  last_time_ns_ = std::max(last_time_ns_, append_time_ns);
  ++count_;
  PutVarint(static_cast<uint64_t>(offset - base_offset_), &raw_);
  PutVarint(Zigzag(append_time_ns - first_time_ns_), &raw_);
  raw_.push_back(static_cast<char>((tombstone ? kTombstone : 0) | (has_headers ? kHasHeaders : 0)));
}

void BatchBuilder::Add(int64_t offset, int64_t append_time_ns, const OutgoingRecord& record) {
  Begin(offset, append_time_ns, record.tombstone, !record.headers.empty());
  PutString(record.key, &raw_);
  PutString(record.tombstone ? std::string_view() : std::string_view(record.value), &raw_);
  if (record.headers.empty()) return;
  std::string encoded;
  PutVarint(record.headers.size(), &encoded);
  for (const auto& [name, value] : record.headers) {
    PutString(name, &encoded);
    PutString(value, &encoded);
  }
  PutString(encoded, &raw_);
}

void BatchBuilder::Add(const RecordView& record) {
  Begin(record.offset, record.append_time_ns, record.tombstone, !record.headers.empty());
  PutString(record.key, &raw_);
  PutString(record.value, &raw_);
  if (!record.headers.empty()) PutString(record.headers, &raw_);
}

void BatchBuilder::Finish(uint64_t sequence, bool compress, std::string* out) {
  PITWALL_CHECK(count_ > 0);
  std::string_view stored = raw_;
  bool compressed = false;
  if (compress && raw_.size() >= kWorthCompressing) {
    if (zstd_ == nullptr) zstd_.reset(ZSTD_createCCtx());
    compressed_.resize(ZSTD_compressBound(raw_.size()));
    const size_t size = ZSTD_compressCCtx(zstd_.get(), compressed_.data(), compressed_.size(),
                                          raw_.data(), raw_.size(), kZstdLevel);
    // Compression must save at least an eighth of the size. Smaller savings are not worth the
    // decompression time.
    if (ZSTD_isError(size) == 0 && size < raw_.size() - raw_.size() / 8) {
      stored = std::string_view(compressed_).substr(0, size);
      compressed = true;
    }
  }
  char header[kBatchHeaderBytes] = {};
  std::memcpy(header, kBatchMagic.data(), 4);
  Store<int64_t>(base_offset_, 8, header);
  Store<uint64_t>(sequence, 16, header);
  Store<int64_t>(first_time_ns_, 24, header);
  Store<int64_t>(last_time_ns_, 32, header);
  Store<uint32_t>(static_cast<uint32_t>(last_offset_ - base_offset_), 40, header);
  Store<uint32_t>(count_, 44, header);
  Store<uint32_t>(static_cast<uint32_t>(stored.size()), 48, header);
  Store<uint32_t>(static_cast<uint32_t>(raw_.size()), 52, header);
  Store<uint32_t>(Crc32c(stored), 56, header);
  Store<uint32_t>(compressed ? kZstd : 0, 60, header);
  Store<uint32_t>(Crc32c(std::string_view(header + 8, kBatchHeaderBytes - 8)), 4, header);
  out->append(header, kBatchHeaderBytes);
  out->append(stored);
  // Frees the memory after a huge record.
  if (raw_.capacity() > 4 * kBatchTargetBytes) raw_ = std::string();
  if (compressed_.capacity() > 4 * kBatchTargetBytes) compressed_ = std::string();
  Clear();
}

void BatchBuilder::Clear() {
  raw_.clear();
  count_ = 0;
}

BatchDecoder::BatchDecoder() = default;
BatchDecoder::~BatchDecoder() = default;
void BatchDecoder::FreeContext::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }

Status BatchDecoder::Open(const BatchHeader& header, std::string_view stored) {
  left_ = 0;
  if (stored.size() != header.stored_bytes) return DataLoss("batch is truncated");
  if (Crc32c(stored) != header.payload_crc) return DataLoss("batch has a wrong checksum");
  payload_ = stored;
  if (header.compressed) {
    if (zstd_ == nullptr) zstd_.reset(ZSTD_createDCtx());
    if (scratch_.capacity() > 4 * kBatchTargetBytes && header.raw_bytes <= kBatchTargetBytes) {
      scratch_ = std::string();
    }
    scratch_.resize(header.raw_bytes);
    const size_t size = ZSTD_decompressDCtx(zstd_.get(), scratch_.data(), scratch_.size(),
                                            stored.data(), stored.size());
    if (ZSTD_isError(size) != 0) {
      return DataLoss(Cat("batch cannot be decompressed: ", ZSTD_getErrorName(size)));
    }
    if (size != header.raw_bytes) return DataLoss("decompressed batch has the wrong size");
    payload_ = scratch_;
  }
  header_ = header;
  at_ = 0;
  left_ = header.count;
  previous_offset_ = header.base_offset - 1;
  return OkStatus();
}

Status BatchDecoder::Next(RecordView* record) {
  uint64_t delta = 0;
  uint64_t time = 0;
  const auto bad = [this](std::string_view what) {
    Status status = DataLoss(Cat("record ", header_.count - left_, " in a batch: ", what));
    left_ = 0;
    return status;
  };
  if (!GetVarint(payload_, &at_, &delta) || !GetVarint(payload_, &at_, &time) ||
      at_ >= payload_.size()) {
    return bad("truncated");
  }
  const uint8_t flags = static_cast<uint8_t>(payload_[at_++]);
  if (delta > header_.last_delta) return bad("offset outside the batch");
  record->offset = header_.base_offset + static_cast<int64_t>(delta);
  if (record->offset <= previous_offset_) return bad("offset decreases");
  // Unsigned arithmetic prevents a forged delta from causing undefined behavior on overflow.
  record->append_time_ns = static_cast<int64_t>(static_cast<uint64_t>(header_.first_time_ns) +
                                                static_cast<uint64_t>(Unzigzag(time)));
  record->tombstone = (flags & kTombstone) != 0;
  record->headers = std::string_view();
  if (!GetString(payload_, &at_, &record->key) || !GetString(payload_, &at_, &record->value) ||
      ((flags & kHasHeaders) != 0 && !GetString(payload_, &at_, &record->headers))) {
    return bad("truncated");
  }
  previous_offset_ = record->offset;
  --left_;
  if (left_ == 0 && at_ != payload_.size()) return bad("unexpected bytes after the last record");
  return OkStatus();
}

bool DecodeHeaders(std::string_view encoded, Headers* headers) {
  headers->clear();
  if (encoded.empty()) return true;
  size_t at = 0;
  uint64_t count = 0;
  if (!GetVarint(encoded, &at, &count) || count > kMaxHeaders) return false;
  headers->reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    std::string_view name;
    std::string_view value;
    if (!GetString(encoded, &at, &name) || !GetString(encoded, &at, &value)) return false;
    headers->emplace_back(name, value);
  }
  return at == encoded.size();
}

}  // namespace pitwall::log
