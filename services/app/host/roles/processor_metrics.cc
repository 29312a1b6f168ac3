// Processor metrics. Each scrape reads the processor's counters.
#include <algorithm>

#include "services/app/host/roles/processor_role.h"
#include "services/base/text/strings.h"

namespace pitwall {

using self_metrics::MetricType;
using self_metrics::Sample;

void ProcessorRole::RegisterProcessorMetrics() {
  const processor::Processor* processor = processor_.get();
  const auto add = [&](std::string_view name, std::string_view help, MetricType type, auto value) {
    registrations_.push_back(
        exposition_->Add(name, help, type, [processor, value](std::vector<Sample>* out) {
          const std::vector<processor::PartitionStats> all = processor->stats();
          for (const processor::PartitionStats& s : all) {
            out->push_back(
                {Labels({{"partition", Cat(s.partition)}}), static_cast<double>(value(s))});
          }
        }));
  };
  using Stats = processor::PartitionStats;
  const auto counter = MetricType::kCounter;
  const auto gauge = MetricType::kGauge;
  add("pitwall_processor_records_total", "Records of pitwall.telemetry applied.", counter,
      [](const Stats& s) { return s.counters.records; });
  add("pitwall_processor_samples_total", "Samples accepted.", counter,
      [](const Stats& s) { return s.counters.samples; });
  add("pitwall_processor_clock_ticks_total", "Clock ticks read.", counter,
      [](const Stats& s) { return s.counters.ticks; });
  add("pitwall_processor_rule_evaluations_total", "Evaluations of one rule on one job at one tick.",
      counter, [](const Stats& s) { return s.counters.evaluations; });
  add("pitwall_processor_rule_errors_total", "Evaluations that failed.", counter,
      [](const Stats& s) { return s.counters.rule_errors; });
  add("pitwall_processor_events_total", "Issue and status events.", counter,
      [](const Stats& s) { return s.counters.events; });
  add("pitwall_processor_untracked_issues_total",
      "Issues beyond the limit of issues in incidents; each is a separate incident.", counter,
      [](const Stats& s) { return s.counters.untracked_issues; });
  // Alerts use these metrics to count the owned partitions, so partitions in standby or recovery
  // are omitted.
  const auto add_owned = [&](std::string_view name, std::string_view help, MetricType type,
                             auto value) {
    registrations_.push_back(
        exposition_->Add(name, help, type, [processor, value](std::vector<Sample>* out) {
          for (const processor::PartitionStats& s : processor->stats()) {
            if (!s.owned()) continue;
            out->push_back(
                {Labels({{"partition", Cat(s.partition)}}), static_cast<double>(value(s))});
          }
        }));
  };
  add_owned("pitwall_processor_commits_total", "Transactions committed.", counter,
            [](const Stats& s) { return s.commits.count; });
  const auto age = [clock = clock_](MonotonicTime since) {
    return static_cast<double>(clock->MonotonicNs() - since.ns()) / 1e9;
  };
  add_owned("pitwall_processor_last_commit_age_seconds",
            "Seconds since the last commit of the partition, which commits at each clock tick, "
            "also without records.",
            gauge, [age](const Stats& s) { return age(s.commits.last_commit); });
  add_owned("pitwall_processor_lag_seconds",
            "Seconds since the partition had committed all records of the log; also grows while "
            "the log is unavailable.",
            gauge, [age](const Stats& s) { return age(s.caught_up); });
  add("pitwall_processor_failed_commits_total", "Failed transactions.", counter,
      [](const Stats& s) { return s.commits.failed; });
  add("pitwall_processor_refused_outputs_total",
      "Events and dead letters dropped because the log rejects them permanently.", counter,
      [](const Stats& s) { return s.commits.refused_outputs; });
  add("pitwall_processor_snapshots_total", "Job snapshots committed.", counter,
      [](const Stats& s) { return s.snapshots; });
  add("pitwall_processor_sequence_gaps", "Batches known to be missing.", gauge,
      [](const Stats& s) { return s.counters.gaps; });
  add("pitwall_processor_jobs", "Jobs with state.", gauge,
      [](const Stats& s) { return s.jobs.count; });
  add("pitwall_processor_jobs_in_grace",
      "Jobs whose attempt died and that end soon unless a rank returns.", gauge,
      [](const Stats& s) { return s.jobs.in_grace; });
  add("pitwall_processor_live_sources", "Sources that hold a watermark.", gauge,
      [](const Stats& s) { return s.jobs.live_sources; });
  add("pitwall_processor_jobs_displaced_total",
      "Jobs restarted because a declaration gave them another owner.", counter,
      [](const Stats& s) { return s.counters.displaced_jobs; });
  add("pitwall_processor_lag_records", "Records of the partition that are not committed yet.",
      gauge,
      [](const Stats& s) { return std::max<int64_t>(s.end_offset - s.commits.next_offset, 0); });
  add("pitwall_processor_state_bytes", "Memory held by job state.", gauge,
      [](const Stats& s) { return s.jobs.memory_bytes; });
  add("pitwall_processor_replayed_records", "Records read again at the last start.", gauge,
      [](const Stats& s) { return s.replay.records_replayed; });
  add("pitwall_processor_input_losses_total",
      "Ranges of the input that were lost (retention, damage) before they were read.", counter,
      [](const Stats& s) { return s.replay.input_losses; });
  add("pitwall_processor_rebuilt_jobs",
      "Jobs rebuilt from an older snapshot or from records at the last start.", gauge,
      [](const Stats& s) { return s.replay.rebuilt_jobs; });
  add("pitwall_processor_history_lost_jobs",
      "Jobs whose rules are in Error until their windows are full.", gauge,
      [](const Stats& s) { return s.jobs.history_lost; });
  RegisterMemoryMetrics();
  registrations_.push_back(
      exposition_->Add("pitwall_processor_topic_partitions",
                       "Partitions of pitwall.telemetry that all processors own together.", gauge,
                       [processor](std::vector<Sample>* out) {
                         out->push_back({Labels(), static_cast<double>(processor->partitions())});
                       }));
  registrations_.push_back(exposition_->Add(
      "pitwall_processor_fenced_total",
      "Number of times that another processor took over a partition of this processor.", counter,
      [processor](std::vector<Sample>* out) {
        out->push_back({Labels(), static_cast<double>(processor->fenced())});
      }));
  registrations_.push_back(exposition_->Add(
      "pitwall_processor_dropped_total",
      "Samples that were not evaluated, by reason (batches if their samples were not read).",
      counter, [processor](std::vector<Sample>* out) {
        const std::vector<Stats> all = processor->stats();
        for (const Stats& s : all) {
          for (size_t r = 0; r < engine::kDropNames.size(); ++r) {
            out->push_back(
                {Labels({{"partition", Cat(s.partition)}, {"reason", engine::kDropNames[r]}}),
                 static_cast<double>(s.counters.drops[r])});
          }
        }
      }));
}

void ProcessorRole::RegisterMemoryMetrics() {
  const MemoryBudget* memory = memory_.get();
  const auto add = [&](std::string_view name, std::string_view help, MetricType type, auto value) {
    registrations_.push_back(
        exposition_->Add(name, help, type, [memory, value](std::vector<Sample>* out) {
          out->push_back({Labels(), static_cast<double>(value(*memory))});
        }));
  };
  const auto each = [&](std::string_view name, std::string_view help, auto sample) {
    registrations_.push_back(exposition_->Add(
        name, help, MetricType::kGauge, [memory, sample](std::vector<Sample>* out) {
          for (const MemoryBudget::Entry& entry : memory->Entries()) out->push_back(sample(entry));
        }));
  };
  using Entry = MemoryBudget::Entry;
  const auto holder = [](const Entry& entry) { return Labels({{"holder", entry.name}}); };
  add("pitwall_memory_budget_bytes", "Memory limit of all jobs.", MetricType::kGauge,
      [](const MemoryBudget& budget) { return budget.limit(); });
  add("pitwall_memory_pauses_total", "Number of times that a partition paused reading.",
      MetricType::kCounter, [](const MemoryBudget& budget) { return budget.pauses(); });
  each("pitwall_memory_held_bytes", "Memory of the jobs of a partition.",
       [holder](const Entry& entry) {
         return Sample{holder(entry), static_cast<double>(entry.bytes)};
       });
  each("pitwall_memory_largest_job_bytes", "Memory of the largest job of a partition.",
       [](const Entry& entry) {
         return Sample{Labels({{"holder", entry.name}, {"part", entry.largest.name}}),
                       static_cast<double>(entry.largest.bytes)};
       });
  each("pitwall_memory_paused", "1 while the partition pauses reading because of memory.",
       [holder](const Entry& entry) {
         return Sample{holder(entry), entry.paused ? 1.0 : 0.0};
       });
}

}  // namespace pitwall
