// Lossless encoder for blocks of values. It chooses the smallest form for each block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/codec/blocks/block_format.h"
#include "services/codec/blocks/value_forms.h"

namespace pitwall::blocks {

// Best form of the previous block. Each series has its own hint. The best form for a series rarely
// changes, so most blocks try only one form.
struct FormHint {
  Form form = Form::kConstant;
  uint8_t blocks = 0;  // blocks since all forms were last tried; 0 before the first trial
  uint32_t millibytes =
      0;  // size per value in the block of the last trial, in thousandths of a byte
};

// Owns the encoder's scratch space. Not thread-safe.
class BlockEncoder {
 public:
  // Appends the encoded block to `out`. Tries all forms if `hint` is null. The output is
  // deterministic for the same values, hint, and zstd version. Returns InvalidArgument if there are
  // no values or more than kMaxBlockValues. Returns ResourceExhausted if zstd is out of memory.
  Status Encode(std::span<const double> values, FormHint* hint, std::string* out);

 private:
  bool Write(Form form, std::string* body);
  Status Offer(Form form, bool* fits);

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
