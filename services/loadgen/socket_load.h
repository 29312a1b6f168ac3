// Ranks that connect to a collector over its Unix socket like the Python client: the load without
// its nodes, in real time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/loadgen/load_plan.h"
#include "services/loadgen/rank_walk.h"

namespace pitwall::loadgen {

struct SocketTotals {
  uint64_t ranks = 0;
  uint64_t updates = 0;
  uint64_t spans = 0;
  uint64_t values = 0;
};

// InvalidArgument: a fault that a socket cannot simulate (the collector detects a death by the
// process). Unavailable: the collector rejected a rank or is gone; the message has the reason.
class SocketLoad {
 public:
  // The plan is checked and complete, and starts now. Borrows everything.
  SocketLoad(const LoadPlan& plan, std::string path, Clock& clock);
  ~SocketLoad();

  Status Run(const std::function<void(const Planted&)>& begun,
             const std::atomic<bool>* stop = nullptr);
  const SocketTotals& totals() const { return totals_; }

 private:
  struct Job;
  struct Rank;

  Status Connect(Rank* rank);
  Status Write(Rank* rank, const std::string& message);
  Status Drain(Rank* rank);
  Status Update(Rank* rank, int64_t until_ns);
  void Report(Job* job, const std::function<void(const Planted&)>& begun);

  const LoadPlan& plan_;
  const std::string path_;
  Clock& clock_;
  std::vector<std::unique_ptr<Job>> jobs_;
  SocketTotals totals_;
};

}  // namespace pitwall::loadgen
