// Test fixture that fills jobs for reports and finds report blocks by ID.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/history/report/report.h"
#include "services/history/testing/vector_history.h"
#include "services/model/value.h"

namespace pitwall::history {

// Returns the block with this ID from any section, or nullptr.
template <typename T>
const T* FindBlock(const Document& document, std::string_view id) {
  for (const Section& section : document.sections) {
    for (const Block& block : section.blocks) {
      const T* one = std::get_if<T>(&block);
      if (one != nullptr && one->id == id) return one;
    }
  }
  return nullptr;
}

inline Cell CellOf(const Table& table, size_t row, std::string_view key) {
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].key == key) return table.rows.at(row).at(i);
  }
  return std::string("(no such column)");
}
inline Cell FactOf(const Facts& facts, std::string_view key) {
  for (const Fact& fact : facts.facts) {
    if (fact.key == key) return fact.value;
  }
  return std::string("(no such fact)");
}

// Fills a finished job with `ranks` ranks, eight per node, each with a GPU, and with `steps` steps
// of one second. The last step of the last rank takes 2.5 s.
inline void FillJob(VectorHistory::Job* job, int ranks, int steps) {
  JobOverview& life = job->life;
  life.name = "digits";
  life.first_ns = life.started_ns = AtSecond(0);
  life.last_ns = life.ended_ns = AtSecond(steps + 20.0);
  life.end_detail = EndDetail::kCompleted;
  life.end_text = "completed";
  AttemptLife attempt;
  attempt.attempt = 1;
  attempt.began_ns = AtSecond(0);
  attempt.ended_ns = life.ended_ns;
  attempt.first_step_ns = AtSecond(10);
  attempt.last_step_ns = AtSecond(10.0 + steps);
  life.attempts = {attempt};
  const auto add = [&](VectorHistory::Column column) { job->columns.push_back(std::move(column)); };
  std::vector<double> ends, ratios, bytes;
  std::vector<int64_t> numbers;
  for (int step = 0; step < steps; ++step) {
    ends.push_back(11.0 + step);
    numbers.push_back(step);
  }
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string name = Cat(rank), node = Cat("node-", rank / 8);
    life.sources[name] = {.source = name, .node = node, .rank = rank};
    const Labels base = {{"node", node}, {"rank", name}};
    std::vector<double> durations(ends.size(), 1), forward(ends.size(), 0.75);
    if (rank + 1 == ranks && !durations.empty()) durations.back() = 2.5;
    add(VectorHistory::ColumnOf(base.With(kMetricName, "train_step_duration_seconds"), ends,
                                durations, numbers));
    add(VectorHistory::ColumnOf(
        base.With(kMetricName, "train_phase_duration_seconds").With("phase", "forward"), ends,
        forward, numbers));
    std::vector<double> seconds, use;
    for (int second = 0; second < 20; ++second) {
      seconds.push_back(second);
      use.push_back((second * 7 + rank) % 20 / 20.0);
    }
    add(VectorHistory::ColumnOf(
        {{kMetricName, "hw_gpu_utilization_ratio"}, {"node", node}, {"hw_id", Cat(rank % 8)}},
        seconds, use));
  }
  if (ranks > 0 && steps > 0)
    add(VectorHistory::ColumnOf({{kMetricName, "train_loss"}, {"rank", "0"}}, ends,
                                std::vector<double>(ends.size(), 0.5), numbers));
}

inline IssueEvent IssueAt(std::string rule, EventType type, uint64_t sequence, double second) {
  IssueEvent event;
  event.type = type;
  event.job = "j";
  event.rule = std::move(rule);
  event.alert = event.rule.substr(event.rule.rfind('/') + 1);
  event.severity = "critical";
  event.labels = Labels{{"alertname", "A"}, {"rank", "3"}};
  event.sequence = sequence;
  event.active_since = EventTime::FromNs(AtSecond(12));
  event.started_at = EventTime::FromNs(AtSecond(13));
  event.last_seen_at = event.time = EventTime::FromNs(AtSecond(second));
  if (type == EventType::kIssueResolved) event.ended_at = EventTime::FromNs(AtSecond(second));
  event.value = 2.5;
  event.threshold = 1.5;
  event.parameters = {{"ratio", 1.5}};
  event.evidence = {{"train_step_duration_seconds", Labels{{"rank", "3"}}, 2.5}};
  event.summary = "Rank 3 is slow";
  event.description = "Its steps take longer.";
  event.suggestion = "Look at its GPU.";
  event.id = MakeEventId(event);
  event.incident = event.id;
  return event;
}

}  // namespace pitwall::history
