// `pitwall actions list`: what the executor decided and did, out of the log.
#include <sys/stat.h>

#include <algorithm>

#include "absl/time/time.h"
#include "services/adapters/clock/system_clock.h"
#include "services/adapters/kafka/kafka_log.h"
#include "services/adapters/log/embedded_log.h"
#include "services/base/log.h"
#include "services/base/strings.h"
#include "services/base/terminal.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/pipeline/topics.h"
#include "services/pitwall/action_lines.h"
#include "services/pitwall/commands.h"
#include "services/pitwall/flags.h"

namespace pitwall {

namespace {

using Kind = FlagSpec::Kind;

const std::vector<FlagSpec>& ActionFlags() {
  static const std::vector<FlagSpec> specs = {
      {"input", Kind::kOne, "DIR", "data directory of a `pitwall standalone` (also --data-dir)"},
      {"data-dir", Kind::kOne, "DIR", "the same"},
      {"brokers", Kind::kOne, "HOSTS", "instead the topic of this Apache Kafka (host:port,…)"},
      {"job", Kind::kOne, "ID", "only this job"},
      {"rule", Kind::kOne, "RULE", "only this rule (pack/group/alert)"},
      {"json", Kind::kSwitch, "", "CloudEvents, one line each"},
      {"help", Kind::kSwitch, "", "this text"},
  };
  return specs;
}

// Only read: a running system is not disturbed.
StatusOr<std::unique_ptr<Log>> OpenInput(const Flags& flags, Clock* clock) {
  const auto dir = flags.Has("input") ? flags.One("input") : flags.One("data-dir");
  if (dir.has_value() == flags.Has("brokers"))
    return InvalidArgument("either --input DIR or --brokers HOSTS is needed");
  if (const auto brokers = flags.One("brokers"))
    return kafka::OpenKafkaLog({.brokers = *brokers, .client_id = "pitwall-actions"}, clock);
  log::EmbeddedLogOptions options;
  options.dir = *dir;
  struct stat info;
  if (::stat((options.dir + "/log").c_str(), &info) == 0) options.dir += "/log";
  options.read_only = true;
  return log::OpenEmbeddedLog(options, clock);
}

struct Listed {
  int64_t append_time_ns = 0;
  int32_t partition = 0;
  int64_t offset = 0;
  ActionEvent action;
  std::string json;
};

Status ReadPartition(Log* log, int32_t partition, const Flags& flags, std::vector<Listed>* out) {
  ASSIGN_OR_RETURN(const std::unique_ptr<PartitionReader> reader,
                   log->OpenReader({std::string(kActionsTopic), partition}, kFromStart));
  ASSIGN_OR_RETURN(const int64_t end, reader->EndOffset());
  const std::string job = flags.One("job").value_or("");
  const std::string rule = flags.One("rule").value_or("");
  std::vector<Record> records;
  while (reader->position() < end) {
    records.clear();
    if (const Status polled = reader->Poll(1000, 4 << 20, kNanosPerSecond, &records);
        !polled.ok()) {
      if (!absl::IsDataLoss(polled)) return polled;
      PITWALL_LOG(kWarning, "actions", ToStd(polled.message()));
    }
    for (const Record& record : records) {
      StatusOr<ActionEvent> action = cloudevents::DecodeActionEvent(record.value);
      if (!action.ok()) {
        PITWALL_LOG(kWarning, "actions", kActionsTopic, "/", partition, " offset ", record.offset,
                    ": ", ToStd(action.status().message()));
        continue;
      }
      if ((!job.empty() && action->job != job) || (!rule.empty() && action->rule != rule)) continue;
      out->push_back({record.append_time_ns, partition, record.offset, *std::move(action),
                      std::string(record.value)});
    }
  }
  return OkStatus();
}

Status List(const Flags& flags) {
  clock::SystemClock clock;
  ASSIGN_OR_RETURN(const std::unique_ptr<Log> log, OpenInput(flags, &clock));
  const StatusOr<int32_t> partitions = log->Partitions(kActionsTopic);
  if (!partitions.ok() && !absl::IsNotFound(partitions.status())) return partitions.status();
  std::vector<Listed> all;
  for (int32_t p = 0; partitions.ok() && p < *partitions; ++p)
    RETURN_IF_ERROR(ReadPartition(log.get(), p, flags, &all));
  // Newest last. The order within a partition is that of the log, whatever its clock said.
  std::stable_sort(all.begin(), all.end(), [](const Listed& a, const Listed& b) {
    return a.append_time_ns < b.append_time_ns;
  });
  for (const Listed& one : all) {
    flags.Has("json") ? PrintJson(one.json + "\n")
                      : Print(TerminalLine(ActionLine(one.action)) + "\n");
  }
  if (all.empty()) PrintError("no actions: nothing was decided\n");
  return OkStatus();
}

}  // namespace

int RunActions(const std::vector<std::string>& arguments) {
  const auto flags = Flags::Parse(ActionFlags(), arguments);
  const bool list = flags.ok() && flags->positional() == std::vector<std::string>{"list"};
  const bool help = flags.ok() && flags->Has("help");
  if (help || (flags.ok() && !list)) {
    const std::string text = Cat("pitwall actions list --input DIR | --brokers HOSTS [flags]\n",
                                 FlagHelp(ActionFlags()));
    help ? Print(text) : PrintError(text);
    return help ? kFine : kUsage;
  }
  const Status status = flags.ok() ? List(*flags) : flags.status();
  if (status.ok()) return kFine;
  PrintError(Cat("pitwall actions: ", ToStd(status.message()), "\n"));
  return kUsage;
}

}  // namespace pitwall
