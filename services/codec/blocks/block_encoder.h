// Encodes blocks of values without loss, each in the form that takes the fewest bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/codec/blocks/block_format.h"
#include "services/codec/blocks/value_forms.h"

struct ZSTD_CCtx_s;

namespace pitwall::blocks {

// What the last block of a series was best written as. One for each series; the values of a series
// keep their kind, so most blocks try one form only.
struct FormHint {
  Form form = Form::kConstant;
  uint8_t blocks = 0;       // since all forms were tried; 0: never
  uint32_t millibytes = 0;  // a value of that block, in thousandths of a byte
};

// Holds the scratch space of an encoder. Not thread-safe.
class BlockEncoder {
 public:
  BlockEncoder();
  ~BlockEncoder();
  BlockEncoder(const BlockEncoder&) = delete;
  BlockEncoder& operator=(const BlockEncoder&) = delete;

  // Appends the encoded block to `out`. `hint` may be null: all forms are tried. Deterministic: the
  // same values and hint give the same bytes with the same version of zstd. InvalidArgument: no
  // values, or more than kMaxBlockValues; ResourceExhausted: zstd has no memory.
  Status Encode(std::span<const double> values, FormHint* hint, std::string* out);

 private:
  bool Write(Form form, std::string* body);
  Status Compress(const std::string& body, std::string* out);
  Status Offer(Form form, bool* fits);

  std::unique_ptr<ZSTD_CCtx_s, void (*)(ZSTD_CCtx_s*)> zstd_;
  std::vector<uint64_t> bits_;
  Distinct distinct_;
  std::vector<int64_t> integers_;
  std::string body_;
  std::string compressed_;
  std::string candidate_;
  std::string best_;
  Form best_form_ = Form::kConstant;
};

}  // namespace pitwall::blocks
