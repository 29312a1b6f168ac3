#include "services/collector/metrics/counters.h"

#include <initializer_list>
#include <utility>

#include "services/base/text/strings.h"

namespace pitwall::collector {

void Counters::CountRefused(Refusal why, std::string_view owner_class) {
  for (size_t i = 0; i < kOwnerClasses.size(); ++i) {
    if (kOwnerClasses[i] == owner_class)
      refusals[static_cast<size_t>(why)][i].fetch_add(1, std::memory_order_relaxed);
  }
}

void Counters::AddMetrics(self_metrics::Probe* probe) const {
  constexpr std::string_view kPrefix = "pitwall_collector_";
  const auto read = [](const Number& number) {
    return [value = &number] { return value->load(std::memory_order_relaxed); };
  };
  const auto counter = [&](std::string_view name, const Number& number, std::string_view help,
                           Labels labels = {}) {
    probe->AddCounter(Cat(kPrefix, name), help, read(number), std::move(labels));
  };
  const auto gauge = [&](std::string_view name, const Number& number, std::string_view help) {
    probe->AddGauge(Cat(kPrefix, name), help, read(number));
  };
  const auto by_reason = [&](std::string_view name, std::string_view help,
                             std::initializer_list<std::pair<const char*, const Number*>> all) {
    for (const auto& [reason, number] : all) counter(name, *number, help, {{"reason", reason}});
  };
  counter("ticks_total", ticks, "Samples taken of the node.");
  counter("ticks_missed_total", ticks_missed, "Multiples of the interval without a sample.");
  counter("boots_total", boots,
          "Boot IDs: 1, plus 1 for each time the wall clock was set forward.");
  gauge("clock_behind", clock_behind,
        "1 while the wall clock is behind the collector's time by more than a second.");
  counter("read_errors_total", read_errors, "System files that could not be read or parsed.");
  counter("nvml_errors_total", nvml_errors, "Failed GPU readings.");
  counter("drop_files_bad_total", drop_files_bad, "Invalid files in the drop folder.");
  gauge("jobs", jobs, "Jobs bound to this node.");
  gauge("clients", clients, "Connected training processes.");
  counter("clients_accepted_total", clients_accepted, "Connections of training processes.");
  counter("clients_held_total", clients_held,
          "Times that a connection was slowed down because its owner sent too fast.");
  by_reason(
      "clients_closed_total",
      "Connections that ended without a goodbye: refused, closed because of malformed data, or "
      "lost.",
      {{"too_many", &clients_refused}, {"malformed", &clients_malformed}, {"lost", &clients_lost}});
  for (size_t why = 0; why < kRefusals; ++why) {
    for (size_t i = 0; i < kOwnerClasses.size(); ++i) {
      counter("clients_refused_total", refusals[why][i],
              "Clients refused or closed with a reason, by class of their owner.",
              {{"reason", RefusalName(static_cast<Refusal>(why))}, {"owner", kOwnerClasses[i]}});
    }
  }
  counter("client_messages_total", client_messages, "Messages from training processes.");
  counter("client_updates_missed_total", client_updates_missed,
          "Updates missing in the sequences of training processes.");
  counter("client_updates_repeated_total", client_updates_repeated,
          "Duplicate updates that training processes resent after a lost connection.");
  counter("client_drops_total", client_drops,
          "Spans and values dropped by training processes, as reported by them.");
  counter(
      "client_late_hellos_total", late_hellos,
      "Training processes whose hello came after the collector's promise had passed their start.");
  for (size_t i = 0; i < steps::kDrops; ++i) {
    counter("step_series_dropped_total", step_drops[i],
            "Spans that did not produce a per-step sample.",
            {{"reason", steps::DropName(static_cast<steps::Drop>(i))}});
  }
  counter("captures_total", captures_begun, "Captures of jobs with ranks on this node.");
  const auto by_source = [&](std::string_view source, const Number& number) {
    counter("captured_ranks_total", number,
            "Captured ranks, by the source of the capture: their client or the system.",
            {{"source", source}});
  };
  by_source("client", captures_by_client);
  by_source("system", captures_by_system);
  by_reason(
      "captures_dropped_total",
      "Dropped capture requests and responses: the process ended, the request expired or exceeded "
      "a limit, or the response was too long or unexpected.",
      {{"gone", &captures_gone}, {"refused", &captures_refused}, {"unasked", &captures_unasked}});
  counter("batches_total", batches, "Telemetry batches created.");
  counter("records_published_total", records_published, "Records appended to the log.");
  counter("bytes_published_total", bytes_published, "Bytes of the records appended to the log.");
  counter("append_failures_total", append_failures, "Failed appends to the log.");
  gauge("jobs_not_published", lanes_failing,
        "Jobs whose records cannot be appended to the log at the moment and wait in the spool.");
  counter("records_spooled_total", records_spooled,
          "Records that were not appended immediately and waited in the spool or in memory.");
  by_reason("records_dropped_total",
            "Lost records: no space left, rejected by the log, damaged on disk, or not published "
            "before the stop.",
            {{"spool_full", &dropped_spool_full},
             {"queue_full", &dropped_queue_full},
             {"refused", &dropped_refused},
             {"damaged", &dropped_damaged},
             {"stopped", &dropped_at_stop}});
  gauge("spool_bytes", spool_bytes, "Bytes in the on-disk spool that wait for the log.");
  gauge("spool_records", spool_records, "Records in the on-disk spool that wait for the log.");
  gauge("queue_bytes", queue_bytes, "Bytes in memory that wait for the log.");
}

}  // namespace pitwall::collector
