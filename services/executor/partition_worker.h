// Worker for one pitwall.issues partition. The worker reads issues, makes decisions, acts, and
// records outcomes.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/executor/actions_topic.h"
#include "services/executor/decision_index.h"
#include "services/executor/executor.h"
#include "services/executor/stop_requests.h"
#include "services/executor/targets/stop_target.h"
#include "services/io/io.h"
#include "services/io/log_fingerprint.h"
#include "services/io/log_reset_notice.h"
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

  // Takes over the partition from any other executor of this node. The other executor's commits
  // fail until that executor takes over the partition again.
  Status Fence();
  // `unfinished` contains live decisions of an earlier process whose outcome is unknown. The worker
  // checks and records their effect, but does not execute them again.
  Status Open(std::vector<ActionEvent> unfinished);
  // Pauses actions for the given reason until the decisions can be read. Must be called after Open.
  void Hold(const Status& why);
  void Start();
  void Stop();
  Status health() const;

 private:
  struct DecidedStop {  // stop that was decided and must be executed
    ActionEvent decision;
    StopTarget* target = nullptr;
    int64_t grace_ns = 0;
  };
  struct Watched {  // executed stop whose effect is being checked
    ActionEvent decision;
    StopTarget* target = nullptr;
    std::string done;  // description of the action
    int64_t until_ns = 0;
    int64_t grace_ns = 0;
    int64_t look_at_ns = 0;
  };

  void Loop();
  // Takes over the partition again, and determines from the log which decisions were committed.
  Status Reopen();
  Status ReadBack();
  // Returns the position to resume from, which is the committed position or the end of a replaced
  // log.
  StatusOr<int64_t> Resume(const CommittedOffset& committed);
  // Resumes at the end of a replaced log. `before` is the reader's position in the previous log.
  Status FollowReplaced(int64_t before);
  void NoteReset(std::string text);
  Status Step();
  void Note(const Record& record);
  // Adds an open issue or a request to the candidates if a policy applies to it.
  void Consider(IssueEvent event);
  // Decides on all candidates, commits the decisions, and then acts.
  Status DecideAll();
  ActionEvent MakeAction(const IssueEvent& event, ActionEventType type, ActionMode mode,
                         std::string why) const;
  // Returns the decision on one candidate, or nullopt if the candidate was already decided or
  // refused.
  std::optional<ActionEvent> Decide(const IssueEvent& event, StopTarget** target,
                                    int64_t* grace_ns);
  void Act(const DecidedStop& decided);
  void LookAfter();
  Status CommitOutcomes();
  Status Apply(const std::vector<ActionEvent>& actions, int64_t next_offset);
  // `stopped` is true if the action ended the job.
  void Finish(const ActionEvent& decision, std::string effect, bool stopped = false);
  OutgoingRecord StopNotice(const ActionEvent& action);
  void SetHealth(const Status& status);

  Clock* const clock_;
  Log* const log_;
  const StopTargets* const targets_;
  const ExecutorOptions& options_;
  DecisionIndex* const index_;
  ActionsTopic* const decisions_;
  ExecutorCounters* const counters_;
  const TopicPartition at_;
  const std::string group_;  // consumer group of this node
  const std::string name_;   // globally unique worker name
  std::unique_ptr<PartitionReader> reader_;
  StopRequests requests_;
  std::unique_ptr<Committer> committer_;  // null if the committer was lost (see Reopen)
  std::unique_ptr<Wakeup> wakeup_;
  std::thread thread_;
  std::atomic<bool> stop_{false};

  // The following members are used only by the worker's thread.
  std::map<std::string, IssueEvent, std::less<>>
      candidates_;                        // open issues that have a policy, by issue ID
  std::vector<DecidedStop> unconfirmed_;  // stops whose commit result is unknown
  std::map<std::string, DecidedStop, std::less<>>
      committed_stops_;  // stops that this worker committed, by issue ID
  std::vector<Watched> watched_;
  std::vector<ActionEvent> outcomes_;  // outcomes to commit
  std::set<std::string> stopped_;      // IDs of the outcomes that ended a job
  int64_t begin_ = 0;                  // first offset that this process has read
  uint64_t commits_ = 0;
  LogFingerprint mark_;      // mark of the newest record that was read
  std::string last_commit_;  // metadata of the last committed position
  int64_t committed_ = -1;
  int64_t committed_at_ns_ = 0;

  mutable Mutex mutex_;
  Status health_ ABSL_GUARDED_BY(mutex_);
  LogResetNotice notice_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::executor
