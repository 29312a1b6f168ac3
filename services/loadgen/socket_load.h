// Simulated ranks that connect to a collector over its Unix socket, as the Python client does. This
// load has no nodes and runs in real time.
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

// Run returns InvalidArgument for a fault that cannot be simulated over a socket, such as the death
// of a rank, which the collector detects by watching the process. Run returns Unavailable with the
// reason if the collector rejected a rank or closed the connection.
class SocketLoad {
 public:
  // The plan must be validated and have no unset values. The load starts immediately. All arguments
  // except `path` must outlive this object.
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
