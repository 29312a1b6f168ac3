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

  // `now` is the monotonic time since the origin of the clock.
  void Set(std::string text, Duration now) {
    text_ = std::move(text);
    at_ = now;
  }
  Status Read(Duration now) const {
    if (text_.empty() || now - at_ >= kShown) return OkStatus();
    return FailedPrecondition(text_);
  }

 private:
  std::string text_;
  Duration at_;
};

}  // namespace pitwall
