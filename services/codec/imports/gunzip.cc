#include "services/codec/imports/gunzip.h"

#include <zlib.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "services/base/check.h"
#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::imports {

namespace {

constexpr std::string_view kMagic = "\x1f\x8b";
constexpr std::string_view kNoHeader = "incorrect header check";  // zlib's error message
constexpr size_t kPiece = size_t{1} << 18;
constexpr size_t kMaxInput = size_t{1} << 30;  // zlib counts input bytes in 32 bits

}  // namespace

struct Gunzip::Stream {
  z_stream zlib{};
  std::vector<char> out = std::vector<char>(kPiece);
  bool between = true;  // before, between, or after gzip members

  Stream() { PITWALL_CHECK(inflateInit2(&zlib, 16 + MAX_WBITS) == Z_OK); }
  ~Stream() { inflateEnd(&zlib); }
};

Gunzip::Gunzip(std::string name, Next next) : name_(std::move(name)), next_(std::move(next)) {}
Gunzip::~Gunzip() = default;

Status Gunzip::Feed(std::string_view bytes) {
  if (tail_) return OkStatus();
  if (known_) return stream_ ? Inflate(bytes) : next_(bytes);
  begin_.append(bytes);
  if (begin_.size() < kMagic.size() && StartsWith(kMagic, begin_)) return OkStatus();
  known_ = true;
  if (StartsWith(begin_, kMagic)) stream_ = std::make_unique<Stream>();
  const std::string begun = std::exchange(begin_, {});
  return stream_ ? Inflate(begun) : next_(begun);
}

Status Gunzip::Inflate(std::string_view bytes) {
  z_stream& zlib = stream_->zlib;
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, kMaxInput);
    // zlib does not write to its input.
    zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data()));
    zlib.avail_in = static_cast<uInt>(part.size());
    do {
      zlib.next_out = reinterpret_cast<Bytef*>(stream_->out.data());
      zlib.avail_out = static_cast<uInt>(stream_->out.size());
      if (zlib.avail_in > 0) stream_->between = false;
      const int code = inflate(&zlib, Z_NO_FLUSH);
      const size_t n = stream_->out.size() - zlib.avail_out;
      unpacked_ += n;
      if (n > 0) RETURN_IF_ERROR(next_({stream_->out.data(), n}));
      if (code == Z_DATA_ERROR && whole_ && zlib.msg == kNoHeader) {
        PITWALL_LOG(kWarning, "import", name_,
                    ": skipped the bytes after the end of the gzip data");
        stream_->between = tail_ = true;
        return OkStatus();
      }
      if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
        return InvalidArgument(
            Cat(name_, ": corrupt gzip data after ", unpacked_,
                " uncompressed bytes: ", zlib.msg != nullptr ? zlib.msg : "no cause reported"));
      }
      if (code == Z_STREAM_END) {
        stream_->between = whole_ = true;
        PITWALL_CHECK(inflateReset(&zlib) == Z_OK);
      }
    } while (zlib.avail_in > 0 || zlib.avail_out == 0);
    bytes.remove_prefix(part.size());
  }
  return OkStatus();
}

Status Gunzip::Finish() {
  if (!known_ && !begin_.empty()) return next_(begin_);
  cut_ = stream_ && !stream_->between;
  if (cut_)
    PITWALL_LOG(kWarning, "import", name_, ": gzip data is truncated after ", unpacked_,
                " uncompressed bytes");
  return OkStatus();
}

}  // namespace pitwall::imports
