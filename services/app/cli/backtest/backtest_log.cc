// Replay of ticks, promises, and rule-set records in offset order, for `--format log`.
#include <sys/stat.h>

#include <algorithm>
#include <iterator>

#include "absl/time/time.h"
#include "services/adapters/clock/system_clock.h"
#include "services/adapters/embedded_log/embedded_log.h"
#include "services/adapters/kafka/kafka_log.h"
#include "services/app/cli/backtest/backtest_formats.h"
#include "services/app/cli/backtest/replayed_log.h"
#include "services/app/command/command.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/engine/shard.h"
#include "services/io/partition_scan.h"
#include "services/io/topics.h"
#include "services/processor/commit_metadata.h"
#include "services/processor/partition_processor.h"
#include "services/processor/rule_sets.h"

namespace pitwall {

namespace {

// Provider for the rule sets recorded in the log. An empty rule set replaces a missing or corrupt
// one until the log activates the next rule set.
class RecordedRules final : public engine::RuleSetProvider {
 public:
  explicit RecordedRules(Log* log) : recorded_(log) {}
  StatusOr<engine::CompiledRulesPtr> Load(const std::string& hash) override {
    auto loaded = recorded_.Load(hash);
    if (loaded.ok() || !(absl::IsNotFound(loaded.status()) || absl::IsDataLoss(loaded.status())))
      return loaded;
    ++missing_;
    std::string what =
        Cat(ToStd(loaded.status().message()), "; replayed without rules until the next set");
    if (std::find(damage_.begin(), damage_.end(), what) == damage_.end())
      damage_.push_back(std::move(what));
    return engine::CompiledRules::Compile(RuleSet{});
  }
  const std::vector<std::string>& damage() const { return damage_; }
  size_t missing() const { return missing_; }  // number of failed load attempts

 private:
  processor::RuleSets recorded_;
  std::vector<std::string> damage_;
  size_t missing_ = 0;
};

// Last commit of the consumer group shared by all processors, with its metadata. The fields are
// unset if the group has no commit.
struct ProcessorCommit {
  int64_t offset = 0;
  std::string initial_rules;
};
StatusOr<ProcessorCommit> ReadCommit(Log* log, int32_t partition) {
  ASSIGN_OR_RETURN(const auto committed, log->Committed(processor::PartitionOptions().group,
                                                        {std::string(kTelemetryTopic), partition}));
  ProcessorCommit commit;
  if (!committed.has_value()) return commit;
  commit.offset = committed->offset;
  const auto metadata = processor::ParseCommitMetadata(committed->metadata);
  if (metadata.ok()) commit.initial_rules = metadata->initial_rules;
  return commit;
}

Status ReplayPartition(Log* log, int32_t partition, engine::RuleSetProvider* rules,
                       bool fixed_rules, bool end_jobs, int64_t until,
                       engine::RecordingObserver* recordings, ReplayedLog* copy,
                       std::vector<IssueEvent>* events, std::vector<std::string>* damage) {
  engine::EngineOptions options;
  options.recordings = recordings;
  engine::Shard shard(rules, options);
  ASSIGN_OR_RETURN(const ProcessorCommit commit, ReadCommit(log, partition));
  RETURN_IF_ERROR(shard.SetInitialRules(fixed_rules ? "given" : commit.initial_rules));
  engine::EventSink outputs;
  size_t copied = 0;  // number of events already copied to `copy`
  const auto copy_events = [&]() -> Status {
    if (copy == nullptr) return OkStatus();
    RETURN_IF_ERROR(copy->Events(partition, outputs.events, copied));
    copied = outputs.events.size();
    return OkStatus();
  };
  ASSIGN_OR_RETURN(PartitionScan scan,
                   PartitionScan::Open(log, {std::string(kTelemetryTopic), partition}, kFromStart,
                                       {.max_records = 2'000, .on_loss = [&](const Status& lost) {
                                          damage->push_back(Cat("partition ", partition, ": ",
                                                                ToStd(lost.message())));
                                        }}));
  while (true) {
    ASSIGN_OR_RETURN(const Record* const record, scan.Next());
    if (record == nullptr || record->offset >= until) break;
    RETURN_IF_ERROR(shard.Apply(LogOffset(record->offset), record->append_time, record->key,
                                record->value, &outputs));
    if (copy != nullptr) RETURN_IF_ERROR(copy->Telemetry(partition, *record));
    RETURN_IF_ERROR(copy_events());
  }
  if (end_jobs) shard.FinishInput(true, &outputs);
  RETURN_IF_ERROR(copy_events());
  if (copy != nullptr) RETURN_IF_ERROR(copy->Finish(partition));
  events->insert(events->end(), std::make_move_iterator(outputs.events.begin()),
                 std::make_move_iterator(outputs.events.end()));
  return OkStatus();
}

// Reads the events from pitwall.issues. Returns false if retention has removed the oldest events.
StatusOr<bool> ReadRecorded(Log* log, int32_t partition, std::vector<std::string>* events,
                            std::vector<std::string>* damage) {
  ASSIGN_OR_RETURN(const std::unique_ptr<PartitionReader> reader,
                   log->OpenReader({std::string(kIssuesTopic), partition}, kFromStart));
  ASSIGN_OR_RETURN(const int64_t start, reader->StartOffset());
  ASSIGN_OR_RETURN(PartitionScan scan,
                   PartitionScan::Continue(reader.get(), {std::string(kIssuesTopic), partition},
                                           {.on_loss = [&](const Status& lost) {
                                             damage->push_back(Cat("partition ", partition, ": ",
                                                                   ToStd(lost.message())));
                                           }}));
  while (true) {
    ASSIGN_OR_RETURN(Record* const record, scan.Next());
    if (record == nullptr) break;
    events->push_back(std::move(record->value));
  }
  return start == 0;
}

// Returns a message if retention has removed the start of the pitwall.telemetry partition, and
// otherwise "".
StatusOr<std::string> BeginsLate(Log* log, int32_t partition) {
  ASSIGN_OR_RETURN(const std::unique_ptr<PartitionReader> reader,
                   log->OpenReader({std::string(kTelemetryTopic), partition}, kFromStart));
  ASSIGN_OR_RETURN(const int64_t start, reader->StartOffset());
  if (start == 0) return std::string();
  std::vector<Record> records;
  if (Status status = reader->Poll(1, 1, Duration::Zero(), &records);
      !status.ok() && !absl::IsDataLoss(status))
    return status;
  return Cat("partition ", partition, ": log starts at offset ", start,
             records.empty()
                 ? ""
                 : Cat(" (",
                       absl::FormatTime("%E4Y-%m-%dT%H:%M:%SZ",
                                        absl::FromUnixNanos(records[0].append_time.ns()),
                                        absl::UTCTimeZone()),
                       ")"),
             "; retention removed earlier records, so its events cannot be verified");
}

// Returns the number of replayed events that precede the first recorded event. Retention has
// removed the recorded versions of these events.
size_t EventsBefore(const std::vector<IssueEvent>& events,
                    const std::vector<std::string>& recorded) {
  const auto first = std::ranges::find_if(events, [&](const IssueEvent& event) {
    return !recorded.empty() && cloudevents::EncodeCloudEvent(event) == recorded.front();
  });
  return static_cast<size_t>(first - events.begin());
}

// Compares each partition's events, in order, up to the processor's last commit. If a processor is
// running, later events are counted but not compared.
StatusOr<int> VerifyPartitions(Log* log, int32_t partitions, RecordedRules* rules) {
  size_t equal = 0;
  size_t undecided = 0;
  std::vector<std::string> damage;
  for (int32_t p = 0; p < partitions; ++p) {
    ASSIGN_OR_RETURN(std::string late, BeginsLate(log, p));
    if (!late.empty()) {
      damage.push_back(std::move(late));
      continue;
    }
    std::vector<IssueEvent> events;
    // All events in a commit become readable together with the commit. Later events may also be
    // readable.
    ASSIGN_OR_RETURN(const ProcessorCommit commit, ReadCommit(log, p));
    const size_t known = damage.size() + rules->missing();
    RETURN_IF_ERROR(ReplayPartition(log, p, rules, false, false, commit.offset, nullptr, nullptr,
                                    &events, &damage));
    std::vector<std::string> recorded;
    ASSIGN_OR_RETURN(const bool whole, ReadRecorded(log, p, &recorded, &damage));
    if (damage.size() + rules->missing() > known) continue;  // the damage is reported below
    // Retention may have removed the oldest recorded events. All later events must match.
    const size_t skip = whole ? 0 : EventsBefore(events, recorded);
    ASSIGN_OR_RETURN(const ProcessorCommit after, ReadCommit(log, p));
    const size_t decided = events.size() - skip;
    if (after.offset > commit.offset && recorded.size() > decided) {
      undecided += recorded.size() - decided;
      recorded.resize(decided);
    }
    for (size_t i = skip; i < std::max(events.size(), recorded.size() + skip); ++i) {
      const std::string replayed =
          i < events.size() ? cloudevents::EncodeCloudEvent(events[i]) : "nothing";
      const std::string live = i - skip < recorded.size() ? recorded[i - skip] : "nothing";
      if (replayed != live) {
        PrintJson(Cat("partition ", p, ", event ", i, " differs\nlive:     ", live,
                      "\nreplayed: ", replayed, "\n"));
        return kCheckFailed;
      }
      ++equal;
    }
  }
  damage.insert(damage.end(), rules->damage().begin(), rules->damage().end());
  for (const std::string& what : damage) Print(TerminalLine(Cat("not verified: ", what)) + "\n");
  if (!damage.empty()) {
    Print(Cat(equal,
              " events of the other partitions are bit-identical; run `pitwall log check` to list "
              "the damage of an embedded log\n"));
    return kCheckFailed;
  }
  Print(Cat(equal, " events: live and replayed are bit-identical",
            undecided == 0 ? ""
                           : Cat("; ", undecided,
                                 " later events are not verified because a processor is running"),
            "\n"));
  return kFine;
}

// Opens the log for reading. The embedded log and Kafka both store an append time with each record,
// so they produce identical results.
StatusOr<std::unique_ptr<Log>> OpenLog(const Flags& flags, Clock* clock) {
  if (flags.Has("input") == flags.Has("brokers"))
    return InvalidArgument(
        "log: must be one directory or one Kafka cluster; specify either --input DIR or --brokers "
        "HOSTS");
  if (flags.Many("input").size() > 1)
    return InvalidArgument("--input: --format log reads one directory; specify one DIR");
  if (const auto brokers = flags.One("brokers")) {
    return kafka::OpenKafkaLog({.brokers = *brokers, .client_id = "pitwall-backtest"}, clock);
  }
  log::EmbeddedLogOptions options;
  options.dir = *flags.One("input");
  struct stat info;
  if (::stat((options.dir + "/log").c_str(), &info) == 0) options.dir += "/log";
  options.read_only = true;
  // Corruption is reported together with the events, and the exit code is 1.
  options.salvage = true;
  return log::OpenEmbeddedLog(options, clock);
}

}  // namespace

StatusOr<std::vector<IssueEvent>> BacktestLog(const Flags& flags, BacktestRange* range,
                                              engine::RecordingObserver* recordings) {
  clock::SystemClock clock;
  ASSIGN_OR_RETURN(const std::unique_ptr<Log> log, OpenLog(flags, &clock));
  RecordedRules recorded(log.get());
  std::unique_ptr<engine::FixedRules> fixed;
  engine::CompiledRulesPtr given;
  if (flags.Has("rules")) {
    ASSIGN_OR_RETURN(given, ReadGivenRules(flags));
    fixed = std::make_unique<engine::FixedRules>(given);
  }
  engine::RuleSetProvider* provider =
      fixed != nullptr ? static_cast<engine::RuleSetProvider*>(fixed.get()) : &recorded;
  ASSIGN_OR_RETURN(const int32_t partitions, log->Partitions(kTelemetryTopic));
  std::unique_ptr<ReplayedLog> copy;
  if (const auto dir = flags.One("output")) {
    ASSIGN_OR_RETURN(copy, ReplayedLog::Make(*dir, partitions, given));
    RETURN_IF_ERROR(copy->CopyOthers(log.get(), &range->damage));
  }
  std::vector<IssueEvent> events;
  for (int32_t p = 0; p < partitions; ++p) {
    RETURN_IF_ERROR(ReplayPartition(log.get(), p, provider, fixed != nullptr, flags.Has("end-job"),
                                    INT64_MAX, recordings, copy.get(), &events, &range->damage));
  }
  range->damage.insert(range->damage.end(), recorded.damage().begin(), recorded.damage().end());
  const std::string job = flags.One("job").value_or("");
  if (!job.empty()) std::erase_if(events, [&](const IssueEvent& e) { return e.job != job; });
  return events;
}

StatusOr<int> VerifyLog(const Flags& flags) {
  if (flags.Has("rules"))
    return InvalidArgument(
        "--verify: cannot be combined with --rules, because it compares the result with the live "
        "run");
  clock::SystemClock clock;
  ASSIGN_OR_RETURN(const std::unique_ptr<Log> log, OpenLog(flags, &clock));
  return VerifyLog(log.get());
}

StatusOr<int> VerifyLog(Log* log) {
  RecordedRules recorded(log);
  ASSIGN_OR_RETURN(const int32_t partitions, log->Partitions(kTelemetryTopic));
  return VerifyPartitions(log, partitions, &recorded);
}

}  // namespace pitwall
