// Action executor: issue -> decision -> action. By default, the executor only observes. A policy
// enables actions for a rule. The job's reference selects the stop target (stop_target.h).
//
// One thread runs per partition of pitwall.issues. Each issue is decided at most once per mode. The
// decision is committed to pitwall.actions, in one transaction with the input offset, BEFORE the
// action. The outcome is committed after the action. The decisions are read at startup, so the
// executor never acts again on a decided issue, even if a crash lost the outcome (SIGTERM is sent
// at most once). If the result of a commit is unknown, the executor first reads the log and acts
// only if the log contains the commit. Immediately before the stop, the executor checks that the
// issue is still open at the current end of the log. It also checks that the job matches its
// reference and belongs to the issue's owner (for a process: node, pid, start time, and user). The
// executor therefore never stops a reused pid or another user's job. Processes get SIGTERM, never
// SIGKILL.
//
// If the issue log was replaced (topic deleted, recreated, or truncated), the executor resumes at
// the end of the new log, because open issues are repeated within five minutes. If the decision log
// was replaced, the executor does not act until accept_log_reset is set
// (docs/decisions/0022-store-a-log-mark-with-each-position.md).
//
// Each node has one executor, which acts on the processes on its node and skips issues from other
// nodes. A single executor stops the jobs of a cluster (Kubernetes, Slurm, …). All candidates for
// this role must have the same `node`, so that each candidate fences its predecessor.
//
// The budget and the cool-down count live decisions in event time across all partitions of one
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
#include "services/self_metrics/instruments.h"

namespace pitwall::executor {

enum class PolicyMode { kOff, kDryRun, kLive };

struct Policy {
  // Glob for "pack/group/alert" with ? and * (which also matches slashes). The first matching
  // policy applies.
  std::string rule;
  PolicyMode mode = PolicyMode::kDryRun;
  // Maximum time to wait for an effect after the signal.
  int64_t grace_ns = 30 * kNanosPerSecond;
};

// Jobs that the executor never stops, regardless of policies. Fields are globs. All nonempty fields
// must match.
struct Exempt {
  std::string job;             // job ID or name
  std::string namespace_name;  // namespace of the job's reference
  std::string owner;           // "uid:1000" or "pod:<uid>"
};

struct ExecutorOptions {
  std::string issues_topic = "pitwall.issues";
  std::string actions_topic = "pitwall.actions";
  std::string telemetry_topic = "pitwall.telemetry";  // receives the end of stopped jobs
  std::string group = "pitwall-executor";  // prefix of the node's consumer group: <group>-<node>
  // Policies in order of precedence. If no policy matches a rule, the executor performs a dry run
  // for issues with the label action="stop" and ignores all others.
  std::vector<Policy> policies;
  std::vector<Exempt> exempt;
  std::string node;  // if empty, the host name is used
  // If true, the executor can stop processes on its node.
  bool processes = true;
  // Additional targets that can stop jobs. The targets are borrowed.
  std::vector<StopTarget*> targets;
  // If true, jobs without a target belong to another executor and are skipped. If false, such jobs
  // are refused.
  bool others_elsewhere = false;
  // Maximum number of live actions across all jobs per window of event time. Each job gets at most
  // one live action per cool-down.
  int budget = 5;
  int64_t budget_window_ns = int64_t{3600} * kNanosPerSecond;
  int64_t cool_down_ns = int64_t{10} * 60 * kNanosPerSecond;
  // Maximum number of decisions in memory. At startup, the executor reads at most this number of
  // records from the end of each pitwall.actions partition.
  size_t max_decisions = 100'000;
  // If true, the executor resumes once even if the decision log was deleted, replaced, or
  // truncated. It then refuses issues that started before the executor did.
  bool accept_log_reset = false;
};

struct ExecutorCounters {
  self_metrics::SharedCounter events, undecodable, elsewhere, decided_dry_run, decided_live, done,
      refused, refused_owner, failed_commits, log_resets;
};

// Start and Stop must be called on one thread, in this order. The clock, log, processes, and
// exposition are borrowed. The exposition may be null.
class Executor {
 public:
  // Returns InvalidArgument if a policy does not name a rule, an exemption matches every job, or
  // the budget is negative.
  static StatusOr<std::unique_ptr<Executor>> Make(Clock* clock, Log* log, ProcessControl* processes,
                                                  ExecutorOptions options,
                                                  self_metrics::Exposition* exposition = nullptr);
  virtual ~Executor() = default;  // stops the executor
  // Creates the actions topic if it does not exist, reads the decisions, and starts the threads.
  virtual Status Start() = 0;
  virtual void Stop() = 0;
  // Returns true once the decisions have been read and every thread is running.
  virtual bool Ready() const = 0;
  // Returns OK, or the reason why a partition is paused. A partition pauses if another executor on
  // this node fenced it or if the log is unavailable. A paused partition resumes automatically.
  virtual Status Health() const = 0;
  virtual const ExecutorCounters& counters() const = 0;
};

}  // namespace pitwall::executor
