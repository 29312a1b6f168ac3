// Runner for a complete simulated load. It starts and ends jobs and delivers their batches to the
// log.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/base/status.h"
#include "services/codec/telemetry_codec.h"
#include "services/loadgen/load_job.h"
#include "services/loadgen/load_plan.h"

namespace pitwall::loadgen {

// Receives pitwall.telemetry records in order of arrival.
class LoadSink {
 public:
  virtual ~LoadSink() = default;
  // `partition` is kByKey for all records except control records.
  virtual Status Deliver(int64_t arrival_ns, std::string_view key, std::string value,
                         int32_t partition) = 0;
  // Promises that no later record has a time before `now_ns`. In a live load, this function blocks
  // until that time.
  virtual Status Reach(int64_t now_ns) = 0;
  virtual int32_t partitions() const = 0;
};

// Totals of a load. Samples without a value are not counted. Duplicated batches are counted once.
struct LoadTotals {
  uint64_t jobs = 0;
  uint64_t batches = 0;
  uint64_t samples = 0;  // samples in all batches, including dropped batches
  uint64_t spans = 0;
  uint64_t bytes = 0;    // total size of all records
  uint64_t records = 0;  // delivered records, including duplicates and clock ticks
  uint64_t late = 0;
  uint64_t dropped = 0;
  uint64_t dropped_samples = 0;
  uint64_t dropped_spans = 0;
  uint64_t duplicated = 0;
  uint64_t reordered = 0;
};
std::string TotalsJson(const LoadTotals& totals);

// Runner for a load. Memory usage is bounded by the open steps of each job and by the delayed
// batches.
class LoadRun {
 public:
  // The plan must be validated and have no unset values. The plan and the sink must outlive this
  // object.
  LoadRun(const LoadPlan& plan, LoadSink* sink);

  // Calls `begun` for each fault when the fault starts. `begun` may be empty. If `stop` is given,
  // the load ends early once `stop` is true.
  Status Run(const std::function<void(const Planted&)>& begun,
             const std::atomic<bool>* stop = nullptr);
  const LoadTotals& totals() const { return totals_; }

 private:
  struct Turn {
    int64_t at_ns;
    uint64_t order;
    size_t slot;
    size_t actor;
    bool operator>(const Turn& o) const {
      return at_ns != o.at_ns ? at_ns > o.at_ns : order > o.order;
    }
  };
  struct OnTheWay {
    int64_t arrival_ns;
    uint64_t order;
    std::string key;
    std::string value;
    bool operator>(const OnTheWay& o) const {
      return arrival_ns != o.arrival_ns ? arrival_ns > o.arrival_ns : order > o.order;
    }
  };
  // Priority queue that moves its smallest element out, which std::priority_queue cannot.
  template <typename T>
  class Earliest {
   public:
    bool empty() const { return heap_.empty(); }
    const T& top() const { return heap_.front(); }
    void push(T value) {
      heap_.push_back(std::move(value));
      std::push_heap(heap_.begin(), heap_.end(), std::greater<T>());
    }
    T Take() {
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<T>());
      T taken = std::move(heap_.back());
      heap_.pop_back();
      return taken;
    }

   private:
    std::vector<T> heap_;
  };
  struct Slot {
    std::unique_ptr<LoadJob> job;
    uint64_t lives = 0;
    size_t left = 0;                  // number of actors that are still active
    std::vector<int64_t> arrived_ns;  // arrival time of each actor's last batch
  };

  void StartJob(size_t slot, int64_t at_ns);
  void Send(size_t slot, size_t actor, int64_t at_ns, const Batch& batch);
  Status DeliverUntil(int64_t at_ns);
  Status Tick(int64_t at_ns);

  const LoadPlan& plan_;
  LoadSink* const sink_;
  const int64_t end_ns_;
  codec::BatchEncoder encoder_;
  Earliest<Turn> turns_;
  Earliest<OnTheWay> on_the_way_;
  std::vector<Slot> slots_;
  uint64_t order_ = 0;
  int64_t next_tick_ns_ = 0;
  bool ticked_ = false;
  std::string bytes_;
  LoadTotals totals_;
};

}  // namespace pitwall::loadgen
