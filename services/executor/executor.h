// Executor of actions: issue -> decision -> action. By default it only observes; a policy enables
// actions for a rule. The target for a job is chosen by the job's reference: stop_target.h.
//
// One thread per partition of pitwall.issues. Each issue is decided at most once per mode. The
// decision is committed to pitwall.actions, in one transaction with the input offset, BEFORE the
// action, and its outcome after it. Startup reads the decisions: an issue that was decided is never
// acted on again, even if a crash lost the outcome (SIGTERM at most once). If the result of a
// commit is unknown, the executor first reads the log and acts only if the commit is in it. Right
// before the stop, the executor checks again that the issue is still open at the current end of the
// log, and that the job is the one in its reference and belongs to the issue's owner (a process:
// node, pid, start time, user). So neither a reused pid nor another user's job is ever stopped.
// Processes get SIGTERM, never SIGKILL.
//
// If the log of issues was replaced (topic deleted, recreated, or truncated), the executor
// continues at its end: open issues are repeated within five minutes. If the log of decisions was
// replaced, it stops until accept_log_reset
// (docs/decisions/0022-store-a-log-mark-with-each-position.md).
//
// One executor per node: each acts on the processes of its node and skips issues of other nodes.
// Jobs of a cluster (Kubernetes, Slurm, …) are stopped by one executor: give all candidates the
// same `node`, so that each fences its predecessor.
//
// Budget and cool-down count live decisions in event time over all partitions of one executor.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/executor/targets/process_control.h"
#include "services/executor/targets/stop_target.h"
#include "services/io/io.h"
#include "services/model/issues/issue.h"
#include "services/self_metrics/exposition.h"

namespace pitwall::executor {

enum class PolicyMode { kOff, kDryRun, kLive };

struct Policy {
  std::string rule;  // glob over "pack/group/alert": * and ?, * crosses slashes; the first policy
                     // that matches holds
  PolicyMode mode = PolicyMode::kDryRun;
  // Time after the signal for which the executor checks the effect.
  int64_t grace_ns = 30 * kNanosPerSecond;
};

// Jobs that no executor stops, regardless of policies. Globs; all given ones must match.
struct Exempt {
  std::string job;             // ID or name
  std::string namespace_name;  // of the job's reference
  std::string owner;           // "uid:1000", "pod:<uid>"
};

struct ExecutorOptions {
  std::string issues_topic = "pitwall.issues";
  std::string actions_topic = "pitwall.actions";
  std::string telemetry_topic = "pitwall.telemetry";  // gets the end of a stopped job
  std::string group = "pitwall-executor";             // prefix of the node's group: <group>-<node>
  // A rule that no policy names gets a dry run if the issue's labels have action="stop", and
  // otherwise no action.
  std::vector<Policy> policies;
  std::vector<Exempt> exempt;
  std::string node;  // "": the host name
  // Enables stopping processes of its node.
  bool processes = true;
  // Additional ways to stop a job. Borrowed.
  std::vector<StopTarget*> targets;
  // True: jobs without a target belong to another executor. False: they are refused.
  bool others_elsewhere = false;
  // Maximum number of live actions per window of event time over all jobs, and one per job per
  // cool-down.
  int budget = 5;
  int64_t budget_window_ns = int64_t{3600} * kNanosPerSecond;
  int64_t cool_down_ns = int64_t{10} * 60 * kNanosPerSecond;
  // Number of decisions in memory, and of the last records of pitwall.actions per partition read at
  // startup.
  size_t max_decisions = 100'000;
  // Continues, once, although the log of decisions was deleted, replaced, or truncated: issues that
  // began before this start are refused from then on.
  bool accept_log_reset = false;
};

struct ExecutorCounters {
  self_metrics::SharedCounter events, undecodable, elsewhere, decided_dry_run, decided_live, done,
      refused, refused_owner, failed_commits, log_resets;
};

// Start and Stop are called by one thread in this order. Clock, log, and processes are borrowed.
class Executor {
 public:
  // InvalidArgument: a policy without a rule, an exemption of everything, or a negative budget.
  static StatusOr<std::unique_ptr<Executor>> Make(Clock* clock, Log* log, ProcessControl* processes,
                                                  ExecutorOptions options);
  virtual ~Executor() = default;  // stops the executor
  // Creates the actions topic if it is missing, reads the decisions, and starts the threads.
  virtual Status Start() = 0;
  virtual void Stop() = 0;
  // Returns true after the decisions were read and every thread runs.
  virtual bool Ready() const = 0;
  // Returns OK, or the reason why a partition is paused (fenced by another executor of this node,
  // log unavailable). It resumes automatically.
  virtual Status Health() const = 0;
  virtual void RegisterMetrics(self_metrics::Exposition* exposition) = 0;
  virtual const ExecutorCounters& counters() const = 0;
};

}  // namespace pitwall::executor
