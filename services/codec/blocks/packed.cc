#include "services/codec/blocks/packed.h"

#include <zstd.h>

#include "services/base/strings.h"

namespace pitwall::blocks {
namespace {

constexpr int kLevel = 3;

}  // namespace

StatusOr<std::string> Pack(std::string_view text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  const size_t size = ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), kLevel);
  if (ZSTD_isError(size)) return ResourceExhausted(Cat("zstd: ", ZSTD_getErrorName(size)));
  packed.resize(size);
  return packed;
}

StatusOr<std::string> Unpack(std::string_view packed, uint64_t limit, std::string_view what) {
  const unsigned long long stated = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (stated == ZSTD_CONTENTSIZE_ERROR || stated == ZSTD_CONTENTSIZE_UNKNOWN) {
    return DataLoss(Cat(what, ": is not zstd of known length"));
  }
  if (stated > limit) return DataLoss(Cat(what, ": ", stated, " bytes, more than ", limit));
  std::string out(stated, '\0');
  const size_t got = ZSTD_decompress(out.data(), out.size(), packed.data(), packed.size());
  if (ZSTD_isError(got)) return DataLoss(Cat(what, ": damaged: ", ZSTD_getErrorName(got)));
  if (got != stated) return DataLoss(Cat(what, ": has ", got, " bytes, not ", stated));
  return out;
}

}  // namespace pitwall::blocks
