// The state of one job: sources, watermark, attempts, step clocks, windows, rules. A deterministic
// state machine over the records of the log in offset order; time-model.md gives its rules.
// Single-threaded, reads no clock.
//
// Everything that a record brings waits until the job's watermark passes its event time, and is
// then applied in the order (position, phase, source, boot, sequence, index). Attempts, falls of
// the step and ends of sources are decided in that order too, so the order in which sources'
// batches arrive changes no event.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rules/plan/program/program.h"
#include "services/base/binary.h"
#include "services/engine/domain/clock_domain.h"
#include "services/engine/domain/step_clocks.h"
#include "services/engine/incidents/incidents.h"
#include "services/engine/job/attempt_failures.h"
#include "services/engine/job/job_owner.h"
#include "services/engine/program/compiled_rules.h"
#include "services/engine/program/counters.h"
#include "services/engine/program/event_sink.h"
#include "services/engine/program/limits.h"
#include "services/engine/sources/pending_bytes.h"
#include "services/engine/sources/rank_boots.h"
#include "services/engine/sources/source.h"
#include "services/engine/sources/timeline.h"
#include "services/engine/sources/watermark_index.h"
#include "services/model/telemetry.h"

namespace pitwall::engine {

// Engine series stand beside those of collectors; no source id begins with '#'.
inline constexpr std::string_view kOwnSource = "#pitwall";

struct RecordPosition {
  int64_t offset = 0;
  int64_t append_time_ns = 0;
};

class Job {
 public:
  // `rules` null: none yet.
  Job(std::string id, CompiledRulesPtr rules, const EngineOptions& options,
      EngineCounters* counters);
  ~Job();

  // `raw` is the record's value: what is dead-lettered when its schema never comes.
  void OnBatch(const RecordPosition& at, const Batch& batch, std::string_view raw, EventSink* out);
  // The job goes to the batch's owner: what it was is to end by Displace, and the batch begins it
  // again.
  bool DisplacedBy(const Batch& batch) const {
    return owner_.Judge(batch, ended_) == JobOwner::Verdict::kDisplaces;
  }
  void Displace(EventSink* out);
  // A clock tick of the partition.
  void OnTick(int64_t elapsed_ns, EventSink* out);
  // Another rule set, from the next evaluation on: a diff, what did not change keeps its state.
  void SetRules(CompiledRulesPtr rules, EventSink* out);
  // What came before is not known (time-model.md, section 6): its rules are in Error until their
  // windows are full.
  void LoseHistory();
  // Drops what alerts remember, without a word: it does not follow from what was told of them.
  void DropAlerts();
  bool history_lost() const;
  // Of all alerting rules, in the order of the program.
  std::vector<RuleStatusNow> Statuses() const;
  // No source will come any more and W may pass everything that was read (the end of a finished
  // input).
  void FinishInput(bool end_job, EventSink* out);

  const std::string& id() const { return identity_.id; }
  const JobIdentity& identity() const { return identity_; }
  const std::string& owner() const { return owner_.text(); }
  int64_t watermark() const { return watermark_; }
  uint64_t attempt() const { return attempt_; }
  // Over: nothing is left of it but how it ended. An ended event leaves a tombstone, which drops
  // what comes later; a job over by grace or silence goes on as its next attempt when it returns.
  bool ended() const { return ended_; }
  int64_t ended_at() const { return ended_at_; }  // event time, where ended()
  // How long a job whose attempt has died still waits for a rank that returns, in its time;
  // nothing: it does not.
  std::optional<int64_t> OverInNs() const;
  // What is left of it has stood long enough.
  bool gone() const { return gone_; }
  size_t live_sources() const;
  size_t MemoryBytes() const;
  const PendingBytes& memory() const { return memory_; }
  // Ticks of log time read by this job: paces its snapshots.
  int64_t log_time_ns() const { return log_time_ns_; }

  void Save(BinaryWriter& out) const;
  // Into a job made with the rule set that was in force.
  // `format`: kSnapshotJob of the version that saved it, or kSnapshotJobBefore.
  Status Restore(BinaryReader& in, uint32_t format);
  // What was saved is of a job that is over; false also when it is damaged.
  static bool SavedAsEnded(std::string_view saved);

 private:
  using SourceKey = std::pair<std::string, std::string>;  // (source, boot)
  struct RowRef {
    int64_t time;
    Source* source;
    PendingFrame* frame;
    size_t row;
  };

  // Reading (job.cc).
  Source* FindOrAddSource(const Batch& batch, EventSink* out);
  void ReadFrames(const RecordPosition& at, const Batch& batch, std::string_view raw,
                  Source* source, EventSink* out);
  // False: the promise is refused, since the source's clock runs ahead.
  bool ReadPromise(const RecordPosition& at, const Batch& batch, Source* source);
  void ReadTimelineEvents(const RecordPosition& at, const Batch& batch, bool believed,
                          Source* source);
  void ReleaseWaiting(Source* source);
  void Leave(Source* source, TimelineEvent::Kind kind);
  void Schedule(int64_t position, Phase phase, const Source& source, uint64_t sequence,
                uint32_t index, TimelineEvent happening);
  // The same of what a batch says: counted and left out when the job holds too much.
  void ScheduleRead(int64_t position, Phase phase, const Source& source, uint64_t sequence,
                    uint32_t index, TimelineEvent happening);
  // The job holds all that it may: says so by what takes most.
  void RefuseForMemory(size_t samples);
  // What a source without frames holds.
  void GiveBack(const Source& source);
  // Charges what was restored.
  void CountHeld(const Source& source);
  void Advance(int64_t to, EventSink* out);
  void DropWaiting(Source* source, int64_t elapsed_ns, EventSink* out);
  void PruneSources(EventSink* out);

  // Applying in event time (job_apply.cc; attempts and steps: job_steps.cc).
  void ApplyUpTo(int64_t to, EventSink* out);
  void RunTicksBelow(int64_t position, EventSink* out);
  void ApplyRow(const RowRef& row, EventSink* out);
  void ApplyStep(const RowRef& row, int64_t step, EventSink* out);
  void Apply(const TimelineEventKey& key, const TimelineEvent& happening, EventSink* out);
  void ApplyBoot(const TimelineEventKey& key, Source* source, EventSink* out);
  void BeginAttempt(uint64_t number, int64_t at, const Source& first, EventSink* out);
  void EndSource(Source* source, int64_t at);
  void MergeLabels(const std::vector<Label>& labels);
  void MarkStale(const Source& source, int64_t position);
  void MarkStepsStale(const Source& source, const std::string& mode);
  void RestartSteps(Source* source, const std::string& mode, int64_t at, EventSink* out);
  void JudgeStepRules(int64_t time_ns, EventSink* out);
  // Step clocks (job_step_clocks.cc). `at`: event time of what may have moved the step watermark.
  void PromiseStep(Source* source, const std::string& mode, int64_t step, int64_t at,
                   EventSink* out);
  void AdvanceSteps(ClockDomain* domain, int64_t at, EventSink* out);
  void EvaluateStepsTo(ClockDomain* domain, int64_t position, int64_t at, EventSink* out);
  // The source promises no further steps. With `ended` its process is gone for good.
  void AdvanceStepsWithout(const Source& source, bool ended, int64_t at, EventSink* out);
  // Evaluates every step that was logged: nothing that follows belongs to them.
  void FinishSteps(int64_t at, EventSink* out);
  void FinishSteps(ClockDomain* domain, int64_t at, EventSink* out);
  void RestartStepClocks();
  // The clock for the rank's row of a step; `first`: its first row of that step. Null: no rule
  // reads the mode, or the step was evaluated already.
  ClockDomain* ClockOfStep(Source* source, const std::string& mode, int64_t step, bool first);
  ClockDomain* SeparateClock(const std::string& mode, int64_t position);
  void MoveToClock(Source* source, const std::string& mode, uint32_t clock);
  void DropLaggards(ClockDomain* domain);
  bool Lags(const Source& source, ClockDomain* domain) const;
  void NameMissingRanks(const std::string& mode);
  // Ends of ranks, attempts and the job (job_ends.cc).
  void Tell(JobChange change, EndDetail detail, int64_t at, uint64_t attempt, EventSink* out);
  void EmitStarted(int64_t at, EventSink* out);
  bool HearRankLost(const Source& teller, const RankLost& lost);
  void RankJoined(Source* source, int64_t at, EventSink* out);
  void JoinAttempt(const Source& source, int64_t at, EventSink* out);
  void RankLeft(Source* source);
  void ApplyRankLost(const TimelineEventKey& key, const JobEvent& event, EventSink* out);
  // What a rank that ended adds to the attempt's deaths, and what ticks see of them.
  void CountDeath(int64_t at, const Source& source, const JobEvent& event);
  void WriteFailureSeries(int64_t tick);
  void ForgetDeaths();
  // Writes what has changed of the nodes of which nothing is heard.
  void TellSilentNodes();
  // At `at`, or once rules have seen the death.
  EndDetail DetailOfDeath() const;
  void EndWithoutLauncher(int64_t at, EventSink* out);
  void ApplyLauncherGone(const TimelineEventKey& key, const Source* teller, EventSink* out);
  void ApplyGraceOver(const TimelineEventKey& key, EventSink* out);
  void ApplyJobEnded(const TimelineEventKey& key, const JobEvent& event, EventSink* out);
  EndDetail DetailOfEnd(const JobEvent& event, int64_t at) const;
  void TellAttemptEnded(int64_t at, EventSink* out);
  bool PlatformTells() const;
  void LookAtEndsAt(int64_t at);
  int64_t OverBy() const;
  void OnPlatformReport(int64_t at, const PlatformEnd& end);
  bool LaunchersGone() const;
  // The attempt has died when no rank is left and at least one was lost.
  void DieWithoutRanks(int64_t at, EventSink* out);
  void EndIssuesOfAttempt(int64_t at, EndDetail detail, EventSink* out);
  static TickContext StepContext(const ClockDomain& domain, TickContext at);
  void EndJob(int64_t at, EndDetail detail, bool by_event, EventSink* out);
  bool ResumesWith(const Batch& batch) const;
  void AmendEnd(const RecordPosition& at, const Batch& batch, EventSink* out);
  void GoOn();
  void SaveEnds(BinaryWriter& out) const;
  void RestoreEnds(BinaryReader& in);
  // Nothing at or before it can happen any more.
  int64_t passed() const { return std::max(watermark_, floor_); }
  void FlagSource(Source* source, std::string_view reason, bool on);
  void Flag(std::string_view source, std::string_view node, std::string_view reason, bool on);
  // False: the batch is of another owner, and counted as that.
  bool TakeOwner(const Batch& batch);
  void CountAttempt(int64_t at);
  // The engine's own series at each multiple of own_series_repeat_ns up to `upto`, in event time as
  // all that rules see.
  void RepeatOwnSeries(int64_t upto);
  void WriteOwnSeries(ClockDomain* domain, int64_t position, const Labels& labels, double value);
  // Summaries of finished jobs, and what is recorded for new ones (job_baselines.cc).
  std::vector<std::shared_ptr<const plan::Baseline>> FindBaselines() const;
  void TakeBaselines(std::vector<std::shared_ptr<const plan::Baseline>> found);
  // Finds them again; those that no longer count end after `at`, a time.
  void ChangeBaselines(int64_t at);
  // What the summaries say of the steps after the domain's watermark, up to `to`.
  void WriteBaselineSteps(ClockDomain* domain, int64_t to);
  void WriteBaselineValues(ClockDomain* domain, int64_t tick);
  void WriteBaselineRow(ClockDomain* domain, int64_t position);
  void EndStepSeries(ClockDomain* domain, const Labels& labels);
  bool BaselinesHave(std::string_view metric) const;
  void ObserveRecordings();
  const BoundColumns& TimeColumns(Binding* binding);
  const BoundColumns& StepColumns(Binding* binding, ClockDomain* domain);
  void Bind(const Schema& schema, ClockDomain* domain, BoundColumns* columns);
  // Counts what a store refuses: series beyond its limit, samples beyond its limit or late.
  void CountUnknown(const Status& interned);
  // `waiting`: what the store has too much of.
  void CountRefused(const Status& appended, size_t samples,
                    std::string_view waiting = "samples that wait for the next tick");
  // False, and counted: the source has too many modes already.
  bool TakeMode(const Source& source, const std::string& mode);
  void BuildRunners();
  void ReplaceStepRules(const TickContext& at, EventSink* out);
  void SetParameters();
  // Events of one evaluation or end, from `first` on: gives them incident and root cause, and tells
  // the rules of the root causes that changed.
  void JoinIncidents(size_t first, EventSink* out);
  // By the number of a rank; "" where several are named.
  StringMap<std::string> NodesOfRanks() const;
  void Forget();
  TickContext ContextAt(int64_t position) const;

  JobIdentity identity_;
  CompiledRulesPtr rules_;
  plan::ProgramPtr program_;  // the job's variant of it
  const EngineOptions options_;
  EngineCounters* const counters_;
  JobOwner owner_;

  std::map<SourceKey, std::unique_ptr<Source>> sources_;
  PendingBytes memory_;   // of sources_ and timeline_
  WatermarkIndex order_;  // of sources_
  RankBoots rank_boots_;  // of sources_
  Timeline timeline_;
  std::unique_ptr<ClockDomain> time_;
  StepClocks steps_;
  IncidentTracker incidents_;
  uint64_t bindings_generation_ = 1;  // grows when plans of rows must be made again

  int64_t watermark_ = kMinPosition;  // kMinPosition: none yet
  int64_t origin_ = kMinPosition;
  int64_t applied_ = kMinPosition;        // everything at or before it was applied
  int64_t last_activity_ = kMinPosition;  // position of the newest thing applied
  int64_t last_frame_watermark_ = kMinPosition;
  int64_t next_step_judgement_ = kMinPosition;
  int64_t next_expiry_ = kMinPosition;

  uint64_t attempt_ = 0;
  bool started_ = false;         // some attempt has begun
  uint64_t next_attempt_ = 1;    // where none has
  bool attempt_open_ = false;    // it has begun, and no end of it was told
  int64_t attempt_boot_ns_ = 0;  // start of the rank that began it
  bool attempt_by_rank_0_ = false;
  // Counts of ranks in event order: those whose process runs as far as is known, and those of the
  // attempt that were lost.
  size_t ranks_here_ = 0;
  size_t ranks_lost_ = 0;
  int64_t died_at_ = kMinPosition;  // of the attempt; kMinPosition: some rank is here
  AttemptFailures deaths_;          // of the attempt
  std::map<std::string, bool, std::less<>> launchers_gone_;  // by node of the attempt's ranks
  bool told_started_ = false;
  uint64_t changes_told_ = 0;  // io.pitwall.job.changed events: their sequence
  bool ended_ = false;
  bool ended_by_event_ = false;
  int64_t ended_at_ = kMinPosition;
  int64_t floor_ = kMinPosition;  // where the job was over before it went on
  bool gone_ = false;
  bool history_lost_ = false;  // runners made later have lost it too
  int64_t tombstone_age_ns_ = 0;
  int64_t blind_ns_ = 0;  // of ticks without any watermark
  int64_t last_append_ns_ = 0;
  int64_t log_time_ns_ = 0;
  // The engine's own series: labels -> value, repeated while they hold.
  std::map<Labels, double> own_series_;
  int64_t own_series_at_ = kMinPosition;  // where they were written last; none: the next tick
  // Summaries that count for the job: found again, never saved. What they say of the whole run, as
  // one row, and where it goes in each domain.
  std::vector<std::shared_ptr<const plan::Baseline>> baselines_;
  Schema baseline_schema_;
  std::vector<double> baseline_values_;
  std::map<const ClockDomain*, std::unique_ptr<BoundColumns>> baseline_columns_;
  std::vector<std::unique_ptr<RuleObserver>> observers_;  // one a domain
};

}  // namespace pitwall::engine
