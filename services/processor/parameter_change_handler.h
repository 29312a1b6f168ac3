// Handler of requests on pitwall.actions to change rule parameters of running jobs. It validates
// the request, writes the parameters to pitwall.rules, activates the rule set with them, and
// replies on pitwall.actions.
//
// The set parameters are a layer over the rule files and overrides, which a reload keeps. Only the
// telemetry log defines the rule set in force, by its hash: a replay needs nothing else
// (time-model.md, section 7).
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/engine/program/compiled_rules.h"
#include "services/io/io.h"
#include "services/model/issues/action.h"
#include "services/processor/job_parameter_table.h"
#include "services/processor/running_jobs.h"

namespace pitwall::processor {

struct ParameterChangeOptions {
  int64_t look_ns = kNanosPerSecond / 2;
  int64_t read_back = 1000;    // records of each partition of pitwall.actions read at startup
  size_t max_waiting = 256;    // requests
  size_t max_answered = 8192;  // maximum number of answered requests in memory
  // Time for which a job's parameters are kept after its end. 0 or less: no limit.
  int64_t keep_ns = 7LL * 24 * 3600 * kNanosPerSecond;
};

// Each processor replies for the jobs of its own partitions, and all activate the same layer.
// Thread-safe; pointers are borrowed.
class ParameterChangeHandler {
 public:
  // Called with the rule set that becomes active.
  using OnChange = std::function<void(const engine::CompiledRulesPtr& rules)>;

  ParameterChangeHandler(Clock* clock, Log* log, RunningJobs* jobs,
                         ParameterChangeOptions options = {});
  ~ParameterChangeHandler();

  // Returns the rules of the files with the set parameters, for the processor's start. The topics
  // must exist.
  StatusOr<engine::CompiledRulesPtr> Over(engine::CompiledRulesPtr files);
  // Does the same for a reload and activates the rules. Set parameters keep their precedence.
  StatusOr<engine::CompiledRulesPtr> SetFiles(engine::CompiledRulesPtr files);
  // Starts the thread that handles requests. Called after Over and the processor's start.
  void Start(OnChange on_change);
  void Stop();  // idempotent
  // Runs one round of the thread; for tests.
  Status Look();

 private:
  struct Waiting {
    ActionEvent request;
    bool written = false;  // in the layer, but not yet in force
  };

  StatusOr<engine::CompiledRulesPtr> OverLocked(const engine::CompiledRulesPtr& files)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status OpenReaders() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status ReadRequests() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Take(const std::vector<Record>& records) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the set value of the request's parameter, or null.
  const codec::SetParameter* Find(const ActionEvent& request) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Take(ActionEvent action) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Decides the pending requests. After an error, the others are retried in the next round.
  Status Decide() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status Decide(Waiting* one) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the parameters to write, or the reason for a refusal.
  StatusOr<codec::JobParameters> Judge(ActionEvent* request, const WatchedJob& job)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status Answer(ActionEvent answer, ActionEventType type) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status ReportRulesInForce() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Resets the parameters of jobs that ended long ago.
  Status TakeBackOfOldJobs() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status PutInForce() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Watch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Clock* const clock_;
  Log* const log_;
  RunningJobs* const jobs_;
  const ParameterChangeOptions options_;
  const std::unique_ptr<Wakeup> wakeup_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
  OnChange on_change_;

  Mutex mutex_;
  JobParameterTable table_ ABSL_GUARDED_BY(mutex_);
  engine::CompiledRulesPtr files_ ABSL_GUARDED_BY(mutex_);   // without the layer
  engine::CompiledRulesPtr wanted_ ABSL_GUARDED_BY(mutex_);  // with the layer
  std::vector<std::unique_ptr<PartitionReader>> readers_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Appender> appender_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Waiting> waiting_ ABSL_GUARDED_BY(mutex_);  // by request
  std::set<std::string> answered_ ABSL_GUARDED_BY(mutex_);          // request IDs
  std::deque<std::string> answered_order_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::processor
