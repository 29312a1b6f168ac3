// Lossless encoder of blocks of values, each in the form that takes the fewest bytes.
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

// The best form of the last block of a series. Each series has one. The values of a series seldom
// change their kind, so most blocks try only one form.
struct FormHint {
  Form form = Form::kConstant;
  uint8_t blocks = 0;       // since the last trial of all forms; 0: no trial yet
  uint32_t millibytes = 0;  // per value of that block, in thousandths of a byte
};

// Holds the scratch space of an encoder. Not thread-safe.
class BlockEncoder {
 public:
  BlockEncoder();
  ~BlockEncoder();
  BlockEncoder(const BlockEncoder&) = delete;
  BlockEncoder& operator=(const BlockEncoder&) = delete;

  // Appends the encoded block to `out`. Tries all forms if `hint` is null. Deterministic for the
  // same values, hint, and version of zstd. InvalidArgument: no values, or more than
  // kMaxBlockValues; ResourceExhausted: zstd is out of memory.
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
