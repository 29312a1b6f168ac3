#include "services/app/cli/topic_reading.h"

#include <sys/stat.h>

#include <string>
#include <vector>

#include "services/adapters/embedded_log/embedded_log.h"
#include "services/adapters/kafka/kafka_log.h"
#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/io/partition_scan.h"

namespace pitwall {

std::vector<FlagSpec> LogInputFlags() {
  using Kind = FlagSpec::Kind;
  return {
      {"data-dir", Kind::kOne, "DIR", "read the log in the data directory of `pitwall standalone`"},
      {"input", Kind::kOne, "DIR", "alias of --data-dir"},
      {"brokers", Kind::kOne, "HOSTS", "read the topics of this Kafka cluster (host:port,…)"},
  };
}

bool HasLogInput(const Flags& flags) {
  return flags.Has("input") || flags.Has("data-dir") || flags.Has("brokers");
}

StatusOr<std::unique_ptr<Log>> OpenLogInput(const Flags& flags, Clock* clock) {
  const auto dir = flags.Has("input") ? flags.One("input") : flags.One("data-dir");
  if (dir.has_value() == flags.Has("brokers"))
    return InvalidArgument(
        "log: must be one directory or one Kafka cluster; specify either --data-dir DIR or "
        "--brokers "
        "HOSTS");
  if (const auto brokers = flags.One("brokers"))
    return kafka::OpenKafkaLog({.brokers = *brokers, .client_id = "pitwall-reader"}, clock);
  log::EmbeddedLogOptions options;
  options.dir = *dir;
  struct stat info;
  if (::stat((options.dir + "/log").c_str(), &info) == 0) options.dir += "/log";
  options.read_only = true;
  return log::OpenEmbeddedLog(options, clock);
}

Status ReadTopic(Log* log, std::string_view topic,
                 const std::function<void(int32_t, const Record&)>& take) {
  const StatusOr<int32_t> partitions = log->Partitions(topic);
  if (absl::IsNotFound(partitions.status())) return OkStatus();
  RETURN_IF_ERROR(partitions.status());
  const ScanOptions options{.on_loss = [](const Status& lost) {
    PITWALL_LOG(kWarning, "reader", ToStd(lost.message()));
  }};
  for (int32_t p = 0; p < *partitions; ++p) {
    ASSIGN_OR_RETURN(PartitionScan scan,
                     PartitionScan::Open(log, {std::string(topic), p}, kFromStart, options));
    while (true) {
      ASSIGN_OR_RETURN(const Record* const record, scan.Next());
      if (record == nullptr) break;
      take(p, *record);
    }
  }
  return OkStatus();
}

}  // namespace pitwall
