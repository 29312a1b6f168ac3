// What was found broken: kept for the owner, and logged once.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "services/adapters/log/embedded_log.h"
#include "services/base/log.h"
#include "services/base/mutex.h"

namespace pitwall::log {

// Thread-safe.
class DamageLog {
 public:
  static constexpr size_t kMaxReports = 1000;

  void Report(std::string place, std::string message) {
    MutexLock lock(&mutex_);
    for (const DamageReport& report : reports_) {
      if (report.place == place && report.message == message) return;
    }
    PITWALL_LOG(kError, "log", "damage: ", place, ": ", message);
    if (reports_.size() < kMaxReports) reports_.push_back({std::move(place), std::move(message)});
  }
  std::vector<DamageReport> reports() const {
    MutexLock lock(&mutex_);
    return reports_;
  }

 private:
  mutable Mutex mutex_;
  std::vector<DamageReport> reports_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::log
