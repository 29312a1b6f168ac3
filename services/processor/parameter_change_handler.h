// Changes parameters of rules for single jobs, while they run, as people ask for it on
// pitwall.actions: judges the request, writes what is set to pitwall.rules, puts the rule set with
// it in force, and answers on pitwall.actions.
//
// The set parameters are a layer over the rule files and overrides, which a reload keeps. What is
// in force says the log of telemetry alone, by the hash of the rule set: a replay needs nothing
// else (time-model.md, section 7).
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
  int64_t read_back = 1000;    // records of each partition of pitwall.actions, at the start
  size_t max_waiting = 256;    // requests
  size_t max_answered = 8192;  // requests that are remembered
  // How long what is set of a job stays after its end. 0 or less: without a limit.
  int64_t keep_ns = 7LL * 24 * 3600 * kNanosPerSecond;
};

// Of several processors each answers for the jobs of its own partitions, and all put the same layer
// in force. Thread-safe; what is given is borrowed.
class ParameterChangeHandler {
 public:
  // Is told the rule set that goes into force.
  using OnChange = std::function<void(const engine::CompiledRulesPtr& rules)>;

  ParameterChangeHandler(Clock* clock, Log* log, RunningJobs* jobs,
                         ParameterChangeOptions options = {});
  ~ParameterChangeHandler();

  // The rules of the files with what is set on top, for the processor's start. The topics must
  // exist.
  StatusOr<engine::CompiledRulesPtr> Over(engine::CompiledRulesPtr files);
  // The same at a reload: puts them in force. What is set stays over them.
  StatusOr<engine::CompiledRulesPtr> SetFiles(engine::CompiledRulesPtr files);
  // The thread that looks at requests; after Over, and after the processor's start.
  void Start(OnChange on_change);
  void Stop();  // idempotent
  // One look, as the thread does it; for tests.
  Status Look();

 private:
  struct Waiting {
    ActionEvent request;
    bool written = false;  // it is in the layer, and not yet in force
  };

  StatusOr<engine::CompiledRulesPtr> OverLocked(const engine::CompiledRulesPtr& files)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status OpenReaders() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status ReadRequests() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Take(const std::vector<Record>& records) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What is set of the request's parameter; null: nothing.
  const codec::SetParameter* Find(const ActionEvent& request) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Take(ActionEvent action) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Decides what has not been decided. An error leaves the rest for the next look.
  Status Decide() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status Decide(Waiting* one) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Why the request cannot be followed, or what is to be written.
  StatusOr<codec::JobParameters> Judge(ActionEvent* request, const WatchedJob& job)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status Answer(ActionEvent answer, ActionEventType type) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status TellWhatIsInForce() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of jobs that are over for as long as their records stay.
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
  JobParameterTable book_ ABSL_GUARDED_BY(mutex_);
  engine::CompiledRulesPtr files_ ABSL_GUARDED_BY(mutex_);   // without the layer
  engine::CompiledRulesPtr wanted_ ABSL_GUARDED_BY(mutex_);  // with it
  std::vector<std::unique_ptr<PartitionReader>> readers_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Appender> appender_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Waiting> waiting_ ABSL_GUARDED_BY(mutex_);  // by request
  std::set<std::string> answered_ ABSL_GUARDED_BY(mutex_);          // requests
  std::deque<std::string> answered_order_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::processor
