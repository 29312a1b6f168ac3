#include "services/codec/blocks/zstd_text.h"

#include <zstd.h>

#include "services/base/text/strings.h"

namespace pitwall::blocks {
namespace {

// Creating a zstd context takes longer than compressing a page, so each thread keeps its own
// context.
struct Contexts {
  ~Contexts() {
    ZSTD_freeCCtx(pack);
    ZSTD_freeDCtx(unpack);
  }
  ZSTD_CCtx* pack = nullptr;
  ZSTD_DCtx* unpack = nullptr;
};
thread_local Contexts contexts;

}  // namespace

StatusOr<std::string> Pack(std::string_view text, int level) {
  std::string packed;
  RETURN_IF_ERROR(PackInto(text, &packed, level));
  return packed;
}

Status PackInto(std::string_view text, std::string* out, int level) {
  if (contexts.pack == nullptr) contexts.pack = ZSTD_createCCtx();
  if (contexts.pack == nullptr) return ResourceExhausted("zstd: out of memory");
  out->resize(ZSTD_compressBound(text.size()));
  const size_t size =
      ZSTD_compressCCtx(contexts.pack, out->data(), out->size(), text.data(), text.size(), level);
  if (ZSTD_isError(size)) return ResourceExhausted(Cat("zstd: ", ZSTD_getErrorName(size)));
  out->resize(size);
  return OkStatus();
}

StatusOr<std::string> Unpack(std::string_view packed, uint64_t limit, std::string_view what) {
  const unsigned long long stated = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (stated == ZSTD_CONTENTSIZE_ERROR || stated == ZSTD_CONTENTSIZE_UNKNOWN) {
    return DataLoss(Cat(what, ": not a zstd frame with a known length"));
  }
  if (stated > limit)
    return DataLoss(Cat(what, ": decompressed size is ", stated, " bytes; the limit is ", limit));
  std::string out(stated, '\0');
  RETURN_IF_ERROR(UnpackInto(packed, out, what));
  return out;
}

Status UnpackInto(std::string_view packed, std::span<char> out, std::string_view what) {
  if (contexts.unpack == nullptr) contexts.unpack = ZSTD_createDCtx();
  if (contexts.unpack == nullptr) return ResourceExhausted(Cat(what, ": zstd is out of memory"));
  const size_t got =
      ZSTD_decompressDCtx(contexts.unpack, out.data(), out.size(), packed.data(), packed.size());
  if (ZSTD_isError(got)) return DataLoss(Cat(what, ": damaged: ", ZSTD_getErrorName(got)));
  if (got != out.size())
    return DataLoss(Cat(what, ": decompressed to ", got, " bytes instead of ", out.size()));
  return OkStatus();
}

}  // namespace pitwall::blocks
