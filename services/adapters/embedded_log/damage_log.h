// Collector of damage reports. It keeps and counts the reports, and logs each one once.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "services/adapters/embedded_log/embedded_log.h"
#include "services/base/log.h"
#include "services/base/mutex.h"

namespace pitwall::log {

// Thread-safe.
class DamageLog {
 public:
  static constexpr size_t kMaxReports = 1000;

  explicit DamageLog(bool silent = false) : silent_(silent) {}

  void Report(DamageReport report) {
    MutexLock lock(&mutex_);
    for (const DamageReport& known : reports_) {
      if (known.place == report.place && known.message == report.message) return;
    }
    ++counts_[{report.kind, report.topic, report.healed}];
    if (silent_) {
      // The caller logs the damage.
    } else if (report.healed) {
      PITWALL_LOG(kWarning, "log", report.place, ": ", report.message);
    } else {
      PITWALL_LOG(kError, "log", "damage: ", report.place, ": ", report.message);
    }
    if (reports_.size() < kMaxReports) reports_.push_back(std::move(report));
  }
  std::vector<DamageReport> reports() const {
    MutexLock lock(&mutex_);
    return reports_;
  }
  std::vector<DamageCount> counts() const {
    MutexLock lock(&mutex_);
    std::vector<DamageCount> all;
    for (const auto& [key, count] : counts_) {
      all.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), count});
    }
    return all;
  }

 private:
  const bool silent_;
  mutable Mutex mutex_;
  std::vector<DamageReport> reports_ ABSL_GUARDED_BY(mutex_);
  std::map<std::tuple<DamageKind, std::string, bool>, int64_t> counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::log
