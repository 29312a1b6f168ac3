#include "services/app/host/host_log.h"

#include <utility>

#include "services/adapters/kafka/kafka_log.h"
#include "services/app/config/secret_ref.h"
#include "services/base/text/strings.h"

namespace pitwall {

using self_metrics::MetricType;
using self_metrics::Sample;

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
                   log::OpenEmbeddedLog(options, clock));
  embedded_log_ = embedded.get();
  log_ = std::move(embedded);
  RegisterMetrics(exposition);
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

void HostLog::RegisterMetrics(self_metrics::Exposition* exposition) {
  log::EmbeddedLog* log = embedded_log_;
  const auto add = [&](std::string_view name, std::string_view help, MetricType type, auto value) {
    registrations_.push_back(
        exposition->Add(name, help, type, [log, value](std::vector<Sample>* out) {
          out->push_back({Labels(), static_cast<double>(value(log->Stats()))});
        }));
  };
  using Stats = log::EmbeddedLogStats;
  add("pitwall_log_failed_flushes_total", "Failed flushes of files of the log.",
      MetricType::kCounter, [](const Stats& s) { return s.failed_flushes; });
  add("pitwall_log_suspended_partitions",
      "Partitions that do not accept records because their data cannot be flushed.",
      MetricType::kGauge, [](const Stats& s) { return s.suspended_partitions; });
  add("pitwall_log_retention_suspended",
      "1 while retention by age is suspended after a jump of the wall clock.", MetricType::kGauge,
      [](const Stats& s) { return s.retention_suspended ? 1 : 0; });
  add("pitwall_log_bytes", "Committed bytes of all segments.", MetricType::kGauge,
      [](const Stats& s) { return s.segment_bytes; });
  registrations_.push_back(exposition->Add(
      "pitwall_log_clock_ahead_seconds",
      "Seconds by which append times are ahead of the wall clock after it was set back.",
      MetricType::kGauge, [log](std::vector<Sample>* out) {
        out->push_back({Labels(), static_cast<double>(log->Stats().clock_ahead_ns) / 1e9});
      }));
  registrations_.push_back(exposition->Add(
      "pitwall_log_damage_total",
      "Damage found in the log since the start, by kind and topic; healed: repaired without loss.",
      MetricType::kCounter, [log](std::vector<Sample>* out) {
        for (const log::DamageCount& damage : log->DamageCounts()) {
          out->push_back({Labels({{"kind", std::string(log::DamageKindName(damage.kind))},
                                  {"topic", damage.topic},
                                  {"healed", damage.healed ? "true" : "false"}}),
                          static_cast<double>(damage.count)});
        }
      }));
}

}  // namespace pitwall
