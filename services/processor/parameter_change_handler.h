// Handler for requests on pitwall.actions that change rule parameters of running jobs. It validates
// each request, writes the parameters to pitwall.rules, activates the rule set that includes them,
// and replies on pitwall.actions.
//
// User-set parameters form a layer on top of the rule files and overrides. A reload keeps this
// layer. The telemetry log identifies the active rule set by its hash, so a replay does not need
// any other input (time-model.md, section 7).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/system/worker.h"
#include "services/base/time.h"
#include "services/engine/program/compiled_rules.h"
#include "services/io/io.h"
#include "services/io/topic_follower.h"
#include "services/model/issues/action.h"
#include "services/processor/job_parameter_table.h"
#include "services/processor/running_jobs.h"

namespace pitwall::processor {

struct ParameterChangeOptions {
  Duration look_interval = Duration::Millis(500);
  int64_t read_back = 1000;    // records to read from each pitwall.actions partition at startup
  size_t max_waiting = 256;    // maximum number of pending requests
  size_t max_answered = 8192;  // maximum number of answered requests kept in memory
  // How long a job's parameters are kept after the job ends. A value of 0 or less means forever.
  Duration keep = Duration::Days(7);
};

// Each processor replies to requests for jobs in its own partitions. All processors activate the
// same parameter layer. Thread-safe. All pointers must outlive the handler.
class ParameterChangeHandler {
 public:
  // Called with a rule set when it becomes active.
  using OnChange = std::function<void(const engine::CompiledRulesPtr& rules)>;

  ParameterChangeHandler(Clock* clock, Log* log, RunningJobs* jobs,
                         ParameterChangeOptions options = {});
  ~ParameterChangeHandler();

  // Combines the rules from the files with the user-set parameters when the processor starts. The
  // topics must exist.
  StatusOr<engine::CompiledRulesPtr> Over(engine::CompiledRulesPtr files);
  // Like Over, but for a reload: also activates the combined rules. User-set parameters still
  // override the files.
  StatusOr<engine::CompiledRulesPtr> SetFiles(engine::CompiledRulesPtr files);
  // Starts the thread that handles requests. Requires that Over was called and that the processor
  // has started.
  void Start(OnChange on_change);
  void Stop();  // idempotent
  // Runs one iteration of the request loop. Public for tests.
  Status Look();

 private:
  struct Waiting {
    ActionEvent request;
    bool written = false;  // true if the layer includes the change, but it is not active yet
  };

  StatusOr<engine::CompiledRulesPtr> OverLocked(const engine::CompiledRulesPtr& files)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status OpenFollowers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status ReadRequests() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Take(const FollowedRecords& read) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the parameter that the request refers to if a user has set it, or null.
  const codec::SetParameter* Find(const ActionEvent& request) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Take(ActionEvent action) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Decides all pending requests. After an error, the next iteration retries the remaining
  // requests.
  Status Decide() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status Decide(Waiting* one) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Validates the request. Returns the parameters to write, or an error with the reason for the
  // rejection.
  StatusOr<codec::JobParameters> Judge(ActionEvent* request, const WatchedJob& job)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status Answer(ActionEvent answer, ActionEventType type) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status ReportRulesInForce() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Resets parameters for jobs that ended more than `keep` ago.
  Status ResetOldParameters() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status PutInForce() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Watch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Clock* const clock_;
  Log* const log_;
  RunningJobs* const jobs_;
  const ParameterChangeOptions options_;
  OnChange on_change_;

  Mutex mutex_;
  JobParameterTable table_ ABSL_GUARDED_BY(mutex_);
  engine::CompiledRulesPtr files_ ABSL_GUARDED_BY(mutex_);   // rules without user-set parameters
  engine::CompiledRulesPtr wanted_ ABSL_GUARDED_BY(mutex_);  // rules with user-set parameters
  // Followers of the partitions of this processor's jobs.
  std::vector<std::unique_ptr<TopicFollower>> followers_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Appender> appender_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Waiting> waiting_ ABSL_GUARDED_BY(mutex_);  // by request ID
  std::set<std::string> answered_ ABSL_GUARDED_BY(mutex_);          // IDs of answered requests
  std::deque<std::string> answered_order_ ABSL_GUARDED_BY(mutex_);
  Worker worker_;
};

}  // namespace pitwall::processor
