// Worker for one pitwall.issues partition. The worker reads issues, makes decisions, acts, and
// records outcomes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "services/base/clock.h"
#include "services/base/system/worker.h"
#include "services/executor/actions_topic.h"
#include "services/executor/decision_index.h"
#include "services/executor/executor.h"
#include "services/executor/stop_requests.h"
#include "services/executor/targets/stop_target.h"
#include "services/executor/worker/action_committer.h"
#include "services/executor/worker/issue_reader.h"
#include "services/executor/worker/live_stops.h"
#include "services/executor/worker/stop_candidates.h"
#include "services/executor/worker/stop_decision.h"
#include "services/executor/worker/stop_outcomes.h"
#include "services/executor/worker/worker_health.h"
#include "services/io/io.h"
#include "services/model/issues/action.h"

namespace pitwall::executor {

// Fence, Open, Start, and Stop must be called on one thread in this order. Other functions may be
// called from any thread. All pointers are borrowed.
class PartitionWorker {
 public:
  PartitionWorker(Clock* clock, Log* log, const StopTargets* targets,
                  const ExecutorOptions* options, DecisionIndex* index, ActionsTopic* decisions,
                  ExecutorCounters* counters, int32_t partition);
  ~PartitionWorker();

  // Takes over the partition from any other executor on this node. The other executor's commits
  // fail until that executor takes over the partition again.
  Status Fence();
  // `unfinished` contains an earlier process's live decisions whose outcomes are unknown. The
  // worker checks and records their effects but does not execute them again.
  Status Open(std::vector<ActionEvent> unfinished);
  // Pauses actions for the given reason until the decisions can be read. Must be called after Open.
  void Hold(const Status& why);
  void Start();
  void Stop();
  Status health() const;

 private:
  void Loop();
  // Takes over the partition again, and determines from the log which decisions were committed.
  Status Reopen();
  Status ReadBack();
  Status OnReplacedLog();
  Status Step();
  void Note(const Record& record);
  // Decides on all candidates, commits the decisions, and then acts.
  Status DecideAll();

  Clock* const clock_;
  const StopTargets* const targets_;
  DecisionIndex* const index_;
  ActionsTopic* const decisions_;
  ExecutorCounters* const counters_;
  const TopicPartition at_;
  WorkerHealth health_;

  // Only the worker's thread uses the following members.
  IssueReader reader_;
  StopRequests requests_;
  StopOutcomes outcomes_;
  ActionCommitter committer_;
  StopCandidates candidates_;
  LiveStops stops_;
  Worker worker_;
};

}  // namespace pitwall::executor
