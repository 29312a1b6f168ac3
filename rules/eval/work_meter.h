// Meter for the work of an evaluation that may be interrupted, such as a query over HTTP.
//
// Rules have no meter, because their result must depend only on the log, never on time.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

#include "services/base/status.h"

namespace pitwall::eval {

// Not thread-safe.
class WorkMeter {
 public:
  // `check` is called every few milliseconds of work, and may be empty. If it returns a status
  // other than OK, the evaluation stops with that status.
  explicit WorkMeter(std::function<Status()> check) : check_(std::move(check)) {}

  // Adds units of work, and returns false if the evaluation must stop. One unit takes about a
  // nanosecond, which is also the time per sample in a window.
  bool Add(size_t units) {
    since_ += units;
    if (since_ >= kUnitsBetweenChecks) return Check().ok();
    return status_.ok();
  }
  // Stops the evaluation with `status`. Later calls do not replace the first status.
  void Fail(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }
  // Calls `check` immediately.
  Status Check() {
    since_ = 0;
    if (status_.ok() && check_) status_ = check_();
    return status_;
  }
  const Status& status() const { return status_; }

 private:
  static constexpr size_t kUnitsBetweenChecks = 4'000'000;

  std::function<Status()> check_;
  size_t since_ = 0;
  Status status_;
};

}  // namespace pitwall::eval
