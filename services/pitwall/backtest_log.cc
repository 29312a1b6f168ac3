// `--format log`: replays ticks, promises and rule-set records in offset order.
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "services/adapters/clock/system_clock.h"
#include "services/adapters/kafka/kafka_log.h"
#include "services/adapters/log/embedded_log.h"
#include "services/base/log.h"
#include "services/base/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/engine/shard.h"
#include "services/pipeline/topics.h"
#include "services/pitwall/backtest_formats.h"
#include "services/pitwall/commands.h"
#include "services/processor/partition_processor.h"
#include "services/processor/rule_sets.h"

namespace pitwall {

namespace {

Status ReplayPartition(Log* log, int32_t partition, engine::RuleSetProvider* rules,
                       bool fixed_rules, bool end_jobs, int64_t until,
                       engine::RecordingObserver* recordings, std::vector<IssueEvent>* events) {
  engine::EngineOptions options;
  options.recordings = recordings;
  engine::Shard shard(rules, options);
  RETURN_IF_ERROR(shard.SetInitialRules(fixed_rules ? "given" : ""));
  ASSIGN_OR_RETURN(const std::unique_ptr<PartitionReader> reader,
                   log->OpenReader({std::string(kTelemetryTopic), partition}, kFromStart));
  ASSIGN_OR_RETURN(int64_t end, reader->EndOffset());
  end = std::min(end, until);
  std::vector<Record> records;
  engine::Outputs outputs;
  while (reader->position() < end) {
    records.clear();
    if (Status status = reader->Poll(2000, 8 << 20, kNanosPerSecond, &records); !status.ok()) {
      if (!absl::IsDataLoss(status)) return status;
      PITWALL_LOG(kWarning, "backtest", "partition ", partition, ": ", ToStd(status.message()));
    }
    for (const Record& record : records) {
      if (record.offset >= until) break;
      RETURN_IF_ERROR(
          shard.Apply(record.offset, record.append_time_ns, record.key, record.value, &outputs));
    }
  }
  if (end_jobs) shard.FinishInput(true, &outputs);
  events->insert(events->end(), std::make_move_iterator(outputs.events.begin()),
                 std::make_move_iterator(outputs.events.end()));
  return OkStatus();
}

// The events as they stand on pitwall.issues.
Status ReadRecorded(Log* log, int32_t partition, std::vector<std::string>* events) {
  ASSIGN_OR_RETURN(const std::unique_ptr<PartitionReader> reader,
                   log->OpenReader({std::string(kIssuesTopic), partition}, kFromStart));
  ASSIGN_OR_RETURN(const int64_t end, reader->EndOffset());
  std::vector<Record> records;
  while (reader->position() < end)
    RETURN_IF_ERROR(reader->Poll(2000, 8 << 20, kNanosPerSecond, &records));
  for (Record& record : records) events->push_back(std::move(record.value));
  return OkStatus();
}

// Partition by partition, in order. Records that were read but not committed when the owner stopped
// may add to the end.
StatusOr<int> VerifyPartitions(Log* log, int32_t partitions, engine::RuleSetProvider* rules) {
  size_t equal = 0;
  for (int32_t p = 0; p < partitions; ++p) {
    std::vector<IssueEvent> events;
    ASSIGN_OR_RETURN(const auto committed, log->Committed(processor::PartitionOptions().group,
                                                          {std::string(kTelemetryTopic), p}));
    RETURN_IF_ERROR(ReplayPartition(log, p, rules, false, false,
                                    committed.has_value() ? committed->offset : 0, nullptr,
                                    &events));
    std::vector<std::string> recorded;
    RETURN_IF_ERROR(ReadRecorded(log, p, &recorded));
    for (size_t i = 0; i < std::max(events.size(), recorded.size()); ++i) {
      const std::string replayed =
          i < events.size() ? cloudevents::EncodeCloudEvent(events[i]) : "nothing";
      const std::string live = i < recorded.size() ? recorded[i] : "nothing";
      if (replayed != live) {
        std::printf("partition %d, event %zu differs\nlive:     %s\nreplayed: %s\n", p, i,
                    live.c_str(), replayed.c_str());
        return kCheckFailed;
      }
      ++equal;
    }
  }
  std::printf("%zu events, live and replayed are equal to the bit\n", equal);
  return kFine;
}

// Either is only read. Append times come with the records, so both give the same to the bit.
StatusOr<std::unique_ptr<Log>> OpenLog(const Flags& flags, Clock* clock) {
  if (flags.Has("input") == flags.Has("brokers"))
    return InvalidArgument("either --input DIR or --brokers HOSTS is needed");
  if (flags.Many("input").size() > 1)
    return InvalidArgument("--format log reads one --input DIR, not several");
  if (const auto brokers = flags.One("brokers")) {
    return kafka::OpenKafkaLog({.brokers = *brokers, .client_id = "pitwall-backtest"}, clock);
  }
  log::EmbeddedLogOptions options;
  options.dir = *flags.One("input");
  struct stat info;
  if (::stat((options.dir + "/log").c_str(), &info) == 0) options.dir += "/log";
  options.read_only = true;
  return log::OpenEmbeddedLog(options, clock);
}

}  // namespace

StatusOr<std::vector<IssueEvent>> BacktestLog(const Flags& flags,
                                              engine::RecordingObserver* recordings) {
  clock::SystemClock clock;
  ASSIGN_OR_RETURN(const std::unique_ptr<Log> log, OpenLog(flags, &clock));
  processor::RuleSets recorded(log.get());
  std::unique_ptr<engine::FixedRules> fixed;
  if (flags.Has("rules")) {
    ASSIGN_OR_RETURN(auto rules, ReadGivenRules(flags));
    fixed = std::make_unique<engine::FixedRules>(std::move(rules));
  }
  engine::RuleSetProvider* provider =
      fixed != nullptr ? static_cast<engine::RuleSetProvider*>(fixed.get()) : &recorded;
  ASSIGN_OR_RETURN(const int32_t partitions, log->Partitions(kTelemetryTopic));
  std::vector<IssueEvent> events;
  for (int32_t p = 0; p < partitions; ++p) {
    RETURN_IF_ERROR(ReplayPartition(log.get(), p, provider, fixed != nullptr, flags.Has("end-job"),
                                    INT64_MAX, recordings, &events));
  }
  const std::string job = flags.One("job").value_or("");
  if (!job.empty()) std::erase_if(events, [&](const IssueEvent& e) { return e.job != job; });
  return events;
}

StatusOr<int> VerifyLog(const Flags& flags) {
  if (flags.Has("rules"))
    return InvalidArgument("--verify compares with what was live: it takes no --rules");
  clock::SystemClock clock;
  ASSIGN_OR_RETURN(const std::unique_ptr<Log> log, OpenLog(flags, &clock));
  processor::RuleSets recorded(log.get());
  ASSIGN_OR_RETURN(const int32_t partitions, log->Partitions(kTelemetryTopic));
  return VerifyPartitions(log.get(), partitions, &recorded);
}

}  // namespace pitwall
