// Result of each rank's last capture, published as the series pitwall_capture_state.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/collector/readers/series_reader.h"
#include "services/model/issues/capture.h"

namespace pitwall::collector {

// A state is kept until the rank enters another step, the rank ends, or kHoldNs has elapsed, but
// for at least kSeenNs, so that rules see it. Thread-safe. The caller owns the clock.
class CaptureStates {
 public:
  static constexpr int64_t kHoldNs = 900 * kNanosPerSecond;
  static constexpr int64_t kSeenNs = 5 * kNanosPerSecond;
  static constexpr size_t kMost = 4096;

  explicit CaptureStates(const Clock& clock) : clock_(clock) {}

  void Set(const std::string& job, int64_t rank, uint64_t step_plus_one, CaptureState state);
  // Updates the rank's current step.
  void Moved(const std::string& job, int64_t rank, uint64_t step_plus_one);
  void Gone(const std::string& job, int64_t rank);
  // Returns a job's capture states by rank.
  std::vector<std::pair<int64_t, CaptureState>> Of(const std::string& job);

 private:
  struct Held {
    CaptureState state = CaptureState::kBlocked;
    uint64_t step_plus_one = 0;
    int64_t since_ns = 0;
    int64_t until_ns = 0;
  };

  const Clock& clock_;
  Mutex mutex_;
  std::map<std::pair<std::string, int64_t>, Held> held_ ABSL_GUARDED_BY(mutex_);
  std::atomic<size_t> count_{0};  // number of entries in held_, usually 0
};

// The caller owns the context and the states.
std::unique_ptr<SeriesReader> NewCaptureStateReader(const ReaderContext& context,
                                                    CaptureStates* states, std::string job);

}  // namespace pitwall::collector
