// Notice that the log was replaced, shown for a limited time.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "services/base/clock.h"
#include "services/base/status.h"

namespace pitwall {

class LogResetNotice {
 public:
  // Period within which every open issue is republished.
  static constexpr int64_t kShownNs = 300 * kNanosPerSecond;

  void Set(std::string text, int64_t now_ns) {
    text_ = std::move(text);
    at_ns_ = now_ns;
  }
  Status Read(int64_t now_ns) const {
    if (text_.empty() || now_ns - at_ns_ >= kShownNs) return OkStatus();
    return FailedPrecondition(text_);
  }

 private:
  std::string text_;
  int64_t at_ns_ = 0;  // monotonic time
};

}  // namespace pitwall
