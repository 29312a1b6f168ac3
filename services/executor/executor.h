// Issue -> decision -> action. Observes only, unless told otherwise for a rule. How a job is
// stopped is chosen by its reference: stop_target.h.
//
// One thread per partition of pitwall.issues. Each issue is decided at most once per mode; the
// decision is in pitwall.actions, in one transaction with the input offset, BEFORE anything is
// done, and its outcome after it. On start the decisions are read back: an issue that was decided
// is never acted on again, not even when a crash hid the outcome (SIGTERM at most once). Where a
// commit's own outcome is unknown, the log is asked first; only whose commit is there acts.
// What is decided is checked again right before the stop: the issue is still open at the end that
// the log has now, and the job is the one that its reference names and belongs to the issue's owner
// (a process: node, pid, start time, user). So neither a recycled pid nor another user's job is
// ever stopped. Processes get SIGTERM; never SIGKILL.
//
// Where the topic of issues turns out to be another log (deleted, replaced, cut), it goes on at the
// end: what is open comes again within five minutes. Where the record of decisions is another log
// it stops until accept_log_reset (docs/decisions/0022-store-a-log-mark-with-each-position.md).
//
// One per node: each acts on the processes of its node and passes over the issues of others. Jobs
// of a cluster (Kubernetes, Slurm, …) are stopped by one executor alone: give all that could the
// same `node`, so that each fences the one before it.
//
// Budget and cool-down count in event time of live decisions and cover all partitions of one
// executor.
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
  // How long after the signal the effect is looked for.
  int64_t grace_ns = 30 * kNanosPerSecond;
};

// Jobs that no executor stops, whatever the policies say. Globs; those that are given must all
// match.
struct Exempt {
  std::string job;             // id or name
  std::string namespace_name;  // of the job's reference
  std::string owner;           // "uid:1000", "pod:<uid>"
};

struct ExecutorOptions {
  std::string issues_topic = "pitwall.issues";
  std::string actions_topic = "pitwall.actions";
  std::string telemetry_topic = "pitwall.telemetry";  // where a stopped job is told to have ended
  std::string group = "pitwall-executor";             // each node has its own: <group>-<node>
  // Rules that no policy names: a dry run where the issue's labels carry action="stop", else
  // nothing.
  std::vector<Policy> policies;
  std::vector<Exempt> exempt;
  std::string node;  // empty: the machine's name
  // Whether it stops processes of its node.
  bool processes = true;
  // Further ways to stop a job. Borrowed.
  std::vector<StopTarget*> targets;
  // Jobs that none of the targets is for are another executor's; else they are refused.
  bool others_elsewhere = false;
  // At most so many live actions per window of event time, all jobs together; one per job per
  // cool-down.
  int budget = 5;
  int64_t budget_window_ns = int64_t{3600} * kNanosPerSecond;
  int64_t cool_down_ns = int64_t{10} * 60 * kNanosPerSecond;
  // Decisions remembered, and read back at start from the last so many records of pitwall.actions
  // per partition.
  size_t max_decisions = 100'000;
  // Goes on, once, though the record of its decisions was deleted, replaced or cut: issues that
  // began before this start are refused from then on.
  bool accept_log_reset = false;
};

struct ExecutorCounters {
  self_metrics::SharedCounter events, undecodable, elsewhere, decided_dry_run, decided_live, done,
      refused, refused_owner, failed_commits, log_resets;
};

// Start, then Stop from one thread. Clock, log and processes are borrowed.
class Executor {
 public:
  // InvalidArgument: a policy without rule, an exemption of everything, a negative budget.
  static StatusOr<std::unique_ptr<Executor>> Make(Clock* clock, Log* log, ProcessControl* processes,
                                                  ExecutorOptions options);
  virtual ~Executor() = default;  // stops
  // Makes the actions topic when it is not there, reads decisions back, begins.
  virtual Status Start() = 0;
  virtual void Stop() = 0;
  // True once the decisions are read back and every thread runs.
  virtual bool Ready() const = 0;
  // OK, or why a partition stands still for now (fenced by another executor of this node, log
  // gone). It goes on by itself.
  virtual Status Health() const = 0;
  virtual void RegisterMetrics(self_metrics::Exposition* exposition) = 0;
  virtual const ExecutorCounters& counters() const = 0;
};

}  // namespace pitwall::executor
