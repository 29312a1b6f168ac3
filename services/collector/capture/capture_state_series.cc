#include "services/collector/capture/capture_state_series.h"

#include <algorithm>

#include "services/base/text/strings.h"

namespace pitwall::collector {
namespace {

class CaptureStateReader final : public SeriesReader {
 public:
  CaptureStateReader(const ReaderContext& context, CaptureStates* states, std::string job)
      : context_(context), states_(states), job_(std::move(job)) {}

  bool Read() override {
    std::vector<std::pair<int64_t, CaptureState>> now = states_->Of(job_);
    if (now == ranks_) return false;
    ranks_ = std::move(now);
    return true;
  }

  void Describe(std::vector<SeriesDescriptor>* out) const override {
    for (const auto& [rank, state] : ranks_) {
      out->push_back(NodeSeries(context_, SeriesKind::kGauge, "pitwall_capture_state",
                                {{"rank", Cat(rank)}, {"state", CaptureStateName(state)}}));
    }
  }

  double* Fill(double* row) const override { return std::fill_n(row, ranks_.size(), 1.0); }

 private:
  const ReaderContext context_;
  CaptureStates* const states_;
  const std::string job_;
  std::vector<std::pair<int64_t, CaptureState>> ranks_;
};

}  // namespace

void CaptureStates::Set(const std::string& job, int64_t rank, uint64_t step_plus_one,
                        CaptureState state) {
  const int64_t now = clock_.MonotonicNs();
  MutexLock lock(&mutex_);
  std::erase_if(held_, [now](const auto& entry) { return entry.second.until_ns <= now; });
  if (held_.size() >= kMost && !held_.contains({job, rank})) return;
  held_[{job, rank}] = {state, step_plus_one, now, now + kHoldNs};
  count_ = held_.size();
}

void CaptureStates::Moved(const std::string& job, int64_t rank, uint64_t step_plus_one) {
  if (count_.load(std::memory_order_relaxed) == 0) return;
  MutexLock lock(&mutex_);
  const auto it = held_.find({job, rank});
  if (it == held_.end() || it->second.step_plus_one == step_plus_one) return;
  it->second.until_ns = std::min(it->second.until_ns, it->second.since_ns + kSeenNs);
}

void CaptureStates::Gone(const std::string& job, int64_t rank) {
  MutexLock lock(&mutex_);
  held_.erase({job, rank});
  count_ = held_.size();
}

std::vector<std::pair<int64_t, CaptureState>> CaptureStates::Of(const std::string& job) {
  std::vector<std::pair<int64_t, CaptureState>> out;
  if (count_.load(std::memory_order_relaxed) == 0) return out;
  const int64_t now = clock_.MonotonicNs();
  MutexLock lock(&mutex_);
  for (auto it = held_.lower_bound({job, INT64_MIN});
       it != held_.end() && it->first.first == job;) {
    if (it->second.until_ns <= now) {
      it = held_.erase(it);
      continue;
    }
    out.emplace_back(it->first.second, it->second.state);
    ++it;
  }
  count_ = held_.size();
  return out;
}

std::unique_ptr<SeriesReader> NewCaptureStateReader(const ReaderContext& context,
                                                    CaptureStates* states, std::string job) {
  return std::make_unique<CaptureStateReader>(context, states, std::move(job));
}

}  // namespace pitwall::collector
