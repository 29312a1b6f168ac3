#include "services/app/host/host_log.h"

#include <utility>

#include "services/adapters/kafka/kafka_log.h"
#include "services/app/config/secret_ref.h"
#include "services/base/text/strings.h"

namespace pitwall {

Status HostLog::Open(const Config& config, std::string_view service, Clock* clock,
                     self_metrics::Exposition* exposition) {
  data_dir_ = config.data_dir;
  if (config.log.kind == "kafka") {
    kafka::KafkaLogOptions options;
    options.brokers = config.log.brokers;
    options.client_id = Cat("pitwall-", service);
    ASSIGN_OR_RETURN(options.rdkafka, ReadSecrets(config.log.rdkafka));
    ASSIGN_OR_RETURN(log_, kafka::OpenKafkaLog(options, clock));
    return OkStatus();
  }
  log::EmbeddedLogOptions options;
  options.dir = config.data_dir + "/log";
  options.fsync = config.log.fsync == "always"  ? log::FsyncPolicy::kAlways
                  : config.log.fsync == "never" ? log::FsyncPolicy::kNever
                                                : log::FsyncPolicy::kInterval;
  options.fsync_interval_ms = config.log.fsync_interval_ns / kNanosPerMilli;
  options.segment_bytes = config.log.segment_bytes;
  ASSIGN_OR_RETURN(std::unique_ptr<log::EmbeddedLog> embedded,
                   log::OpenEmbeddedLog(options, clock, exposition));
  embedded_log_ = embedded.get();
  log_ = std::move(embedded);
  return OkStatus();
}

Status HostLog::Health() const {
  if (embedded_log_ == nullptr) return OkStatus();
  const int64_t suspended = embedded_log_->Stats().suspended_partitions;
  if (suspended > 0) {
    return Unavailable(
        Cat("log: ", suspended, " partitions cannot be flushed and do not accept records"));
  }
  for (const log::DamageCount& damage : embedded_log_->DamageCounts()) {
    if (damage.healed) continue;
    return Unavailable(Cat("log: damage (", log::DamageKindName(damage.kind),
                           damage.topic.empty() ? "" : " in topic ", damage.topic,
                           "); stop the service and run `pitwall log check ", data_dir_, "`"));
  }
  return OkStatus();
}

}  // namespace pitwall
