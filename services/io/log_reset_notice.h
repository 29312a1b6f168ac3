// Notice that the log was replaced, shown for a limited time.
#pragma once

#include <string>
#include <utility>

#include "services/base/status.h"
#include "services/base/time.h"

namespace pitwall {

class LogResetNotice {
 public:
  // Period within which every open issue is republished.
  static constexpr Duration kShown = Duration::Minutes(5);

  void Set(std::string text, MonotonicTime now) {
    text_ = std::move(text);
    at_ = now;
  }
  Status Read(MonotonicTime now) const {
    if (text_.empty() || now - at_ >= kShown) return OkStatus();
    return FailedPrecondition(text_);
  }

 private:
  std::string text_;
  MonotonicTime at_;
};

}  // namespace pitwall
