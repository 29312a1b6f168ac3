#include "services/processor/metrics/processor_metrics.h"

#include <algorithm>

#include "services/base/text/strings.h"

namespace pitwall::processor {
namespace {

// Returns a lister with one sample per partition that `included` accepts.
template <typename Included, typename Value>
self_metrics::SampleLister ByPartition(const Processor* processor, Included included, Value value) {
  return [processor, included, value](std::vector<self_metrics::Sample>* out) {
    for (const PartitionStats& s : processor->stats()) {
      if (!included(s)) continue;
      out->push_back({{{"partition", Cat(s.partition)}}, static_cast<double>(value(s))});
    }
  };
}

// Alerts use these metrics to count the owned partitions, so partitions in standby or recovery are
// omitted.
void AddOwnerMetrics(const Processor* processor, const Clock* clock, self_metrics::Probe* probe) {
  const auto owned = [](const PartitionStats& s) { return s.owned(); };
  const auto age = [clock](MonotonicTime since) {
    return static_cast<double>(clock->MonotonicNs() - since.ns()) / 1e9;
  };
  probe->ListCounters(
      "pitwall_processor_commits_total", "Transactions committed.",
      ByPartition(processor, owned, [](const PartitionStats& s) { return s.commits.count; }));
  probe->ListGauges(
      "pitwall_processor_last_commit_age_seconds",
      "Seconds since the last commit of the partition, which commits at each clock tick, "
      "also without records.",
      ByPartition(processor, owned,
                  [age](const PartitionStats& s) { return age(s.commits.last_commit); }));
  probe->ListGauges(
      "pitwall_processor_lag_seconds",
      "Seconds since the partition had committed all records of the log; also grows while "
      "the log is unavailable.",
      ByPartition(processor, owned, [age](const PartitionStats& s) { return age(s.caught_up); }));
}

}  // namespace

void AddProcessorMetrics(const Processor* processor, const Clock* clock,
                         self_metrics::Probe* probe) {
  const auto all = [](const PartitionStats&) { return true; };
  const auto counter = [&](std::string_view name, std::string_view help, auto value) {
    probe->ListCounters(name, help, ByPartition(processor, all, value));
  };
  const auto gauge = [&](std::string_view name, std::string_view help, auto value) {
    probe->ListGauges(name, help, ByPartition(processor, all, value));
  };
  counter("pitwall_processor_records_total", "Records of pitwall.telemetry applied.",
          [](const PartitionStats& s) { return s.counters.records; });
  counter("pitwall_processor_samples_total", "Samples accepted.",
          [](const PartitionStats& s) { return s.counters.samples; });
  counter("pitwall_processor_clock_ticks_total", "Clock ticks read.",
          [](const PartitionStats& s) { return s.counters.ticks; });
  counter("pitwall_processor_rule_evaluations_total",
          "Evaluations of one rule on one job at one tick.",
          [](const PartitionStats& s) { return s.counters.evaluations; });
  counter("pitwall_processor_rule_errors_total", "Evaluations that failed.",
          [](const PartitionStats& s) { return s.counters.rule_errors; });
  counter("pitwall_processor_events_total", "Issue and status events.",
          [](const PartitionStats& s) { return s.counters.events; });
  counter("pitwall_processor_untracked_issues_total",
          "Issues beyond the limit of issues in incidents; each is a separate incident.",
          [](const PartitionStats& s) { return s.counters.untracked_issues; });
  counter("pitwall_processor_failed_commits_total", "Failed transactions.",
          [](const PartitionStats& s) { return s.commits.failed; });
  counter("pitwall_processor_refused_outputs_total",
          "Events and dead letters dropped because the log rejects them permanently.",
          [](const PartitionStats& s) { return s.commits.refused_outputs; });
  counter("pitwall_processor_snapshots_total", "Job snapshots committed.",
          [](const PartitionStats& s) { return s.snapshots; });
  gauge("pitwall_processor_sequence_gaps", "Batches known to be missing.",
        [](const PartitionStats& s) { return s.counters.gaps; });
  gauge("pitwall_processor_jobs", "Jobs with state.",
        [](const PartitionStats& s) { return s.jobs.count; });
  gauge("pitwall_processor_jobs_in_grace",
        "Jobs whose attempt died and that end soon unless a rank returns.",
        [](const PartitionStats& s) { return s.jobs.in_grace; });
  gauge("pitwall_processor_live_sources", "Sources that hold a watermark.",
        [](const PartitionStats& s) { return s.jobs.live_sources; });
  counter("pitwall_processor_jobs_displaced_total",
          "Jobs restarted because a declaration gave them another owner.",
          [](const PartitionStats& s) { return s.counters.displaced_jobs; });
  gauge("pitwall_processor_lag_records", "Records of the partition that are not committed yet.",
        [](const PartitionStats& s) {
          return std::max<int64_t>(s.end_offset - s.commits.next_offset, 0);
        });
  gauge("pitwall_processor_state_bytes", "Memory held by job state.",
        [](const PartitionStats& s) { return s.jobs.memory_bytes; });
  gauge("pitwall_processor_replayed_records", "Records read again at the last start.",
        [](const PartitionStats& s) { return s.replay.records_replayed; });
  counter("pitwall_processor_input_losses_total",
          "Ranges of the input that were lost (retention, damage) before they were read.",
          [](const PartitionStats& s) { return s.replay.input_losses; });
  gauge("pitwall_processor_rebuilt_jobs",
        "Jobs rebuilt from an older snapshot or from records at the last start.",
        [](const PartitionStats& s) { return s.replay.rebuilt_jobs; });
  gauge("pitwall_processor_history_lost_jobs",
        "Jobs whose rules are in Error until their windows are full.",
        [](const PartitionStats& s) { return s.jobs.history_lost; });
  probe->AddGauge("pitwall_processor_topic_partitions",
                  "Partitions of pitwall.telemetry that all processors own together.",
                  [processor] { return processor->partitions(); });
  probe->AddCounter(
      "pitwall_processor_fenced_total",
      "Number of times that another processor took over a partition of this processor.",
      [processor] { return processor->fenced(); });
  probe->ListCounters(
      "pitwall_processor_dropped_total",
      "Samples that were not evaluated, by reason (batches if their samples were not read).",
      [processor](std::vector<self_metrics::Sample>* out) {
        for (const PartitionStats& s : processor->stats()) {
          for (size_t r = 0; r < engine::kDropNames.size(); ++r) {
            out->push_back({{{"partition", Cat(s.partition)}, {"reason", engine::kDropNames[r]}},
                            static_cast<double>(s.counters.drops[r])});
          }
        }
      });
  AddOwnerMetrics(processor, clock, probe);
}

void AddMemoryMetrics(const MemoryBudget* budget, self_metrics::Probe* probe) {
  using Entry = MemoryBudget::Entry;
  const auto each = [&](std::string_view name, std::string_view help, auto sample) {
    probe->ListGauges(name, help, [budget, sample](std::vector<self_metrics::Sample>* out) {
      for (const Entry& entry : budget->Entries()) out->push_back(sample(entry));
    });
  };
  const auto holder = [](const Entry& entry) { return Labels({{"holder", entry.name}}); };
  probe->AddGauge("pitwall_memory_budget_bytes", "Memory limit of all jobs.",
                  [budget] { return budget->limit(); });
  probe->AddCounter("pitwall_memory_pauses_total",
                    "Number of times that a partition paused reading.",
                    [budget] { return budget->pauses(); });
  each("pitwall_memory_held_bytes", "Memory of the jobs of a partition.",
       [holder](const Entry& entry) {
         return self_metrics::Sample{holder(entry), static_cast<double>(entry.bytes)};
       });
  each("pitwall_memory_largest_job_bytes", "Memory of the largest job of a partition.",
       [](const Entry& entry) {
         return self_metrics::Sample{Labels({{"holder", entry.name}, {"part", entry.largest.name}}),
                                     static_cast<double>(entry.largest.bytes)};
       });
  each("pitwall_memory_paused", "1 while the partition pauses reading because of memory.",
       [holder](const Entry& entry) {
         return self_metrics::Sample{holder(entry), entry.paused ? 1.0 : 0.0};
       });
}

}  // namespace pitwall::processor
