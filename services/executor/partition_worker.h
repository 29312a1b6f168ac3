// One partition of pitwall.issues: reads, decides, acts, records.
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

// Fence, Open and Start, then Stop, from one thread; the rest from any. Everything is borrowed.
class PartitionWorker {
 public:
  PartitionWorker(Clock* clock, Log* log, const StopTargets* targets,
                  const ExecutorOptions* options, DecisionIndex* book, ActionsTopic* decisions,
                  ExecutorCounters* counters, int32_t partition);
  ~PartitionWorker();

  // Takes the partition from any other executor of this node: its commits fail until it does so.
  Status Fence();
  // `unfinished`: live decisions of an earlier run whose outcome is unknown; they are looked at and
  // recorded, never carried out again.
  Status Open(std::vector<ActionEvent> unfinished);
  // Nothing is done, for this reason, before the decisions can be read. After Open.
  void Hold(const Status& why);
  void Start();
  void Stop();
  Status health() const;

 private:
  struct DecidedStop {  // to be carried out
    ActionEvent decision;
    StopTarget* target = nullptr;
    int64_t grace_ns = 0;
  };
  struct Watched {  // stopped, and now looked after
    ActionEvent decision;
    StopTarget* target = nullptr;
    std::string done;  // what was
    int64_t until_ns = 0;
    int64_t grace_ns = 0;
    int64_t look_at_ns = 0;
  };

  void Loop();
  // Takes the partition again, and finds out from the log what was committed.
  Status Reopen();
  Status ReadBack();
  // Where to read on: at the committed position, or at the end of a log that is another one.
  StatusOr<int64_t> Resume(const CommittedOffset& committed);
  // Goes to the end when the log was replaced under the reader, which was at `before`.
  Status FollowReplaced(int64_t before);
  void NoteReset(std::string text);
  Status Step();
  void Note(const Record& record);
  // An issue that is open, or a request: a candidate, where a policy wants it.
  void Consider(IssueEvent event);
  // Decides on all candidates and commits that; then acts.
  Status DecideAll();
  ActionEvent MakeAction(const IssueEvent& event, ActionEventType type, ActionMode mode,
                         std::string why) const;
  // What is decided of one candidate; nothing where that was decided or refused before.
  std::optional<ActionEvent> Decide(const IssueEvent& event, StopTarget** target,
                                    int64_t* grace_ns);
  void Act(const DecidedStop& decided);
  void LookAfter();
  Status CommitOutcomes();
  Status Apply(const std::vector<ActionEvent>& actions, int64_t next_offset);
  // `stopped`: the job has ended by it.
  void Finish(const ActionEvent& decision, std::string effect, bool stopped = false);
  OutgoingRecord StopNotice(const ActionEvent& action);
  void SetHealth(const Status& status);

  Clock* const clock_;
  Log* const log_;
  const StopTargets* const targets_;
  const ExecutorOptions& options_;
  DecisionIndex* const book_;
  ActionsTopic* const decisions_;
  ExecutorCounters* const counters_;
  const TopicPartition at_;
  const std::string group_;  // of this node
  const std::string name_;   // of this worker, unlike any other
  std::unique_ptr<PartitionReader> reader_;
  StopRequests requests_;
  std::unique_ptr<Committer> committer_;  // null: lost, see Reopen
  std::unique_ptr<Wakeup> wakeup_;
  std::thread thread_;
  std::atomic<bool> stop_{false};

  // The thread's own:
  std::map<std::string, IssueEvent, std::less<>>
      candidates_;                   // open issues that a policy wants, by issue id
  std::vector<DecidedStop> unsure_;  // whether the decision is in the log is not known
  std::map<std::string, DecidedStop, std::less<>> owed_;  // it does, and it was us; by issue id
  std::vector<Watched> watched_;
  std::vector<ActionEvent> outcomes_;  // to be committed
  std::set<std::string> stopped_;      // ids of those that say that a job was stopped
  int64_t begin_ = 0;                  // where this run began to read
  uint64_t commits_ = 0;
  LogFingerprint mark_;      // the newest record read
  std::string last_commit_;  // is beside the position that it committed
  int64_t committed_ = -1;
  int64_t committed_at_ns_ = 0;

  mutable Mutex mutex_;
  Status health_ ABSL_GUARDED_BY(mutex_);
  LogResetNotice notice_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::executor
