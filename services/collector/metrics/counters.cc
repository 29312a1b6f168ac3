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

std::vector<CounterValue> Counters::List() const {
  std::vector<CounterValue> out;
  const auto add = [&out](std::string_view name, std::string_view help, std::vector<Label> labels,
                          const Number& number, bool monotonic) {
    out.push_back({Cat("pitwall_collector_", name), help, std::move(labels),
                   static_cast<double>(number.load(std::memory_order_relaxed)), monotonic});
  };
  const auto counter = [&add](std::string_view name, const Number& number, std::string_view help) {
    add(name, help, {}, number, true);
  };
  const auto gauge = [&add](std::string_view name, const Number& number, std::string_view help) {
    add(name, help, {}, number, false);
  };
  const auto by_reason = [&add](std::string_view name, std::string_view help,
                                std::initializer_list<std::pair<const char*, const Number*>> all) {
    for (const auto& [reason, number] : all) add(name, help, {{"reason", reason}}, *number, true);
  };
  counter("ticks_total", ticks, "Samplings of the node.");
  counter("ticks_missed_total", ticks_missed,
          "Multiples of the interval at which the sampler was not awake.");
  counter("boots_total", boots, "Boot ids: 1, and one more each time the wall clock went forward.");
  gauge("clock_behind", clock_behind,
        "1 while the wall clock has been set back by more than a second: it is not followed.");
  counter("read_errors_total", read_errors,
          "Files of the system that could not be read or understood.");
  counter("nvml_errors_total", nvml_errors, "Readings of a GPU that failed.");
  counter("drop_files_bad_total", drop_files_bad,
          "Files in the drop folder that could not be used.");
  gauge("jobs", jobs, "Jobs bound to this node.");
  gauge("clients", clients, "Training processes connected.");
  counter("clients_accepted_total", clients_accepted, "Connections of training processes.");
  counter("clients_held_total", clients_held,
          "Times that a connection was read more slowly, since its owner sent too fast.");
  by_reason(
      "clients_closed_total",
      "Connections that ended without a goodbye: refused, closed for what they sent, or gone.",
      {{"too_many", &clients_refused}, {"malformed", &clients_malformed}, {"lost", &clients_lost}});
  for (size_t why = 0; why < kRefusals; ++why) {
    for (size_t i = 0; i < kOwnerClasses.size(); ++i) {
      add("clients_refused_total",
          "Clients that were told why they are refused or closed, by the class of their owner.",
          {{"reason", std::string(RefusalName(static_cast<Refusal>(why)))},
           {"owner", std::string(kOwnerClasses[i])}},
          refusals[why][i], true);
    }
  }
  counter("client_messages_total", client_messages, "Messages of training processes.");
  counter("client_updates_missed_total", client_updates_missed,
          "Holes in the sequence numbers of training processes.");
  counter(
      "client_updates_repeated_total", client_updates_repeated,
      "Updates that training processes sent again after a lost connection, and that were known.");
  counter("client_drops_total", client_drops,
          "Spans and values that training processes say they dropped.");
  counter("client_late_hellos_total", late_hellos,
          "Training processes that said hello after the collector had promised past their start.");
  for (size_t i = 0; i < steps::kDrops; ++i) {
    add("step_series_dropped_total", "Spans that gave no per-step sample.",
        {{"reason", std::string(steps::DropName(static_cast<steps::Drop>(i)))}}, step_drops[i],
        true);
  }
  counter("captures_total", captures_begun, "Captures of jobs that have ranks here.");
  const auto by_source = [&add](std::string_view source, const Number& number) {
    add("captured_ranks_total", "Ranks captured, by what answered: their client, or the system.",
        {{"source", std::string(source)}}, number, true);
  };
  by_source("client", captures_by_client);
  by_source("system", captures_by_system);
  by_reason(
      "captures_dropped_total",
      "Requests and answers of captures that came to nothing: the process ended, a request "
      "expired or was one too many, an answer was too long, or nobody had asked for it.",
      {{"gone", &captures_gone}, {"refused", &captures_refused}, {"unasked", &captures_unasked}});
  counter("batches_total", batches, "Telemetry batches made.");
  counter("records_published_total", records_published, "Records that the log took.");
  counter("bytes_published_total", bytes_published, "Bytes of the records that the log took.");
  counter("append_failures_total", append_failures, "Appends that the log refused or lost.");
  gauge("jobs_not_published", lanes_failing,
        "Jobs whose records the log does not take now: they wait in the spool.");
  counter("records_spooled_total", records_spooled,
          "Records that the log did not take at once: they waited in the spool, or in memory.");
  by_reason("records_dropped_total",
            "Records lost: no room, never acceptable to the log, damaged on disk, or left at stop.",
            {{"spool_full", &dropped_spool_full},
             {"queue_full", &dropped_queue_full},
             {"refused", &dropped_refused},
             {"damaged", &dropped_damaged},
             {"stopped", &dropped_at_stop}});
  gauge("spool_bytes", spool_bytes, "Bytes in the spool on disk that wait for the log.");
  gauge("spool_records", spool_records, "Records in the spool on disk that wait for the log.");
  gauge("queue_bytes", queue_bytes, "Bytes in memory that wait for the log.");
  return out;
}

}  // namespace pitwall::collector
