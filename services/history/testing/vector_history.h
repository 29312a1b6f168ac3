// Simple vector-based implementation of History for tests. It gives the same results as a store,
// except that quantiles are exact (nearest rank).
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "services/base/mutex.h"
#include "services/base/text/strings.h"
#include "services/history/change_feed.h"
#include "services/history/history.h"

namespace pitwall::history {

inline constexpr int64_t kTestStart =
    1'767'225'600 * kNanosPerSecond;  // 2026-01-01, a multiple of all tier lengths
inline int64_t AtSecond(double seconds) {
  return kTestStart + static_cast<int64_t>(std::llround(seconds * 1e9));
}

class VectorHistory : public History {
 public:
  // A series with its samples in time order. `mode` is the mode of all its steps.
  struct Column : SampleColumn {
    std::string mode;
  };
  struct Job {
    JobOverview life;
    std::vector<Column> columns;
    std::vector<SpanRow> spans;
    std::vector<IssueEventPtr> events;
    std::vector<ActionEvent> actions;
    std::vector<RankCapture> captures;
    std::vector<NotificationRecord> notifications;
  };

  // Creates a column with samples at the given times, in seconds since kTestStart. Steps, if any,
  // have the mode "train".
  static Column ColumnOf(Labels labels, const std::vector<double>& seconds,
                         std::vector<double> values, std::vector<int64_t> steps = {}) {
    Column column;
    column.labels = std::move(labels);
    for (const double second : seconds) column.times.push_back(AtSecond(second));
    column.values = std::move(values);
    column.steps = std::move(steps);
    if (!column.steps.empty()) column.mode = "train";
    return column;
  }

  explicit VectorHistory(size_t kept_changes = 4096) : changes_(0, kept_changes) {}

  // Edits a job atomically.
  template <typename F>
  void Edit(const std::string& id, F fill) {
    const MutexLock lock(&mutex_);
    Job& job = jobs_[id];
    job.life.id = id;
    fill(&job);
  }
  void Erase(const std::string& id) {
    const MutexLock lock(&mutex_);
    jobs_.erase(id);
  }
  // Publishes a change at the next position.
  void Publish(Change change) { changes_.Add(std::move(change)); }

  JobList ListJobs() const override {
    const MutexLock lock(&mutex_);
    JobList out;
    for (const auto& [id, job] : jobs_)
      out.jobs.push_back(std::make_shared<const JobOverview>(job.life));
    std::stable_sort(
        out.jobs.begin(), out.jobs.end(),
        [](const JobLifePtr& a, const JobLifePtr& b) { return a->last_ns > b->last_ns; });
    return out;
  }

  StatusOr<JobLifePtr> FindJob(std::string_view name) const override {
    const MutexLock lock(&mutex_);
    std::vector<const Job*> found;
    for (const auto& [id, job] : jobs_) {
      if (id == name) return std::make_shared<const JobOverview>(job.life);
      if (job.life.name == name || StartsWith(id, name)) found.push_back(&job);
    }
    if (found.empty()) return NotFound(Cat("job: not found (", Quote(name), "); list the jobs"));
    if (found.size() > 1)
      return InvalidArgument(
          Cat("job: ", found.size(), " jobs match (", Quote(name), "); give more of the id"));
    return std::make_shared<const JobOverview>(found[0]->life);
  }

  StatusOr<std::vector<SeriesInfo>> Series(const SeriesQuery& query) const override {
    ASSIGN_OR_RETURN(const std::vector<Column> columns, Select(query));
    std::vector<SeriesInfo> out;
    for (const Column& column : columns) {
      if (column.times.empty()) continue;
      out.push_back({column.labels, column.kind, column.times.front(), column.times.back(),
                     !column.steps.empty()});
    }
    return out;
  }

  StatusOr<std::vector<SampleColumn>> Samples(const SampleQuery& query) const override {
    ASSIGN_OR_RETURN(std::vector<Column> columns, Select(query));
    std::vector<SampleColumn> out;
    for (Column& column : columns) {
      if (!query.mode.empty()) {
        if (column.mode != query.mode) continue;
        column = KeepRows(column, [&](size_t i) {
          return column.steps[i] != kNoStep && column.steps[i] >= query.from_step &&
                 column.steps[i] < query.to_step;
        });
      }
      if (!column.times.empty()) out.push_back(std::move(column));
    }
    return out;
  }

  StatusOr<std::vector<RollupColumn>> Rollups(const SeriesQuery& query,
                                              size_t tier) const override {
    SeriesQuery all = query;
    all.range = {};
    ASSIGN_OR_RETURN(const std::vector<Column> columns, Select(all));
    std::vector<RollupColumn> out;
    for (const Column& column : columns) {
      RollupColumn answer{column.labels, column.kind, {}};
      for (const RollupRow& row : RollUp(column.times, column.values, tier)) {
        if (row.start_ns >= query.range.from_ns && row.start_ns < query.range.to_ns)
          answer.rows.push_back(row);
      }
      if (!answer.rows.empty()) out.push_back(std::move(answer));
    }
    return out;
  }

  StatusOr<std::vector<QuantileRow>> Quantiles(const SeriesQuery& query,
                                               std::span<const double> quantiles) const override {
    ASSIGN_OR_RETURN(const std::vector<Column> columns, Select(query));
    std::map<std::pair<std::string, std::string>, std::vector<double>> values;
    for (const Column& column : columns) {
      auto& into =
          values[{std::string(column.labels.Get("node")), std::string(column.labels.Name())}];
      for (const double value : column.values) {
        if (!std::isnan(value)) into.push_back(value);
      }
    }
    std::vector<QuantileRow> out;
    for (auto& [key, all] : values) {
      if (all.empty()) continue;
      std::sort(all.begin(), all.end());
      QuantileRow row{key.first, key.second, all.size(), all.front(), all.back(), 0, {}};
      for (const double value : all) row.mean += value / static_cast<double>(all.size());
      for (const double q : quantiles) {
        const double rank = std::ceil(q * static_cast<double>(all.size()));
        row.quantiles.push_back(all[rank < 1 ? 0 : static_cast<size_t>(rank) - 1]);
      }
      out.push_back(std::move(row));
    }
    return out;
  }

  StatusOr<SpanPage> SpansPage(const SpanQuery& query, size_t first, size_t most) const override {
    const MutexLock lock(&mutex_);
    const auto job = jobs_.find(query.job);
    if (job == jobs_.end()) return NoJob(query.job);
    std::vector<SpanRow> out;
    for (const SpanRow& row : job->second.spans) {
      if (Fits(query, row)) out.push_back(row);
    }
    std::stable_sort(out.begin(), out.end(), [](const SpanRow& a, const SpanRow& b) {
      return std::tie(a.span.start, a.rank, a.span.kind, a.span.name) <
             std::tie(b.span.start, b.rank, b.span.kind, b.span.name);
    });
    if (out.size() > query.limits.rows) return TooMuch("rows", query.limits.rows);
    return PageOf(std::move(out), first, most);
  }

  StatusOr<std::vector<OperatorTotal>> Operators(const SpanQuery& query) const override {
    ASSIGN_OR_RETURN(const std::vector<SpanRow> spans, Spans(query));
    std::map<std::tuple<int64_t, Span::Kind, std::string>, OperatorTotal> totals;
    for (const SpanRow& row : spans) {
      if (row.span.start.ns() < query.range.from_ns) continue;
      const int64_t ns = (row.span.end - row.span.start).ns();
      const auto [at, fresh] =
          totals.try_emplace({row.rank, row.span.kind, row.span.name},
                             OperatorTotal{row.rank, row.span.kind, row.span.name, 0, 0, ns, ns});
      ++at->second.count;
      at->second.total_ns += ns;
      at->second.min_ns = std::min(at->second.min_ns, ns);
      at->second.max_ns = std::max(at->second.max_ns, ns);
    }
    std::vector<OperatorTotal> out;
    for (auto& [key, total] : totals) out.push_back(std::move(total));
    return out;
  }

  StatusOr<JobRecords> Records(std::string_view job, EventTopic topic) const override {
    const MutexLock lock(&mutex_);
    const auto at = jobs_.find(std::string(job));
    if (at == jobs_.end()) return NoJob(job);
    const Job& of = at->second;
    JobRecords out;
    if (topic == EventTopic::kIssues) out.events = of.events;
    if (topic == EventTopic::kActions) out.actions = of.actions;
    if (topic == EventTopic::kCaptures) out.captures = of.captures;
    if (topic == EventTopic::kNotification) out.notifications = of.notifications;
    return out;
  }
  const ChangeFeed& changes() const override { return changes_; }

 private:
  static Status NoJob(std::string_view job) {
    return NotFound(Cat("job: not found (", Quote(job), "); list the jobs"));
  }
  static Status TooMuch(std::string_view what, size_t bound) {
    return ResourceExhausted(Cat(what, ": more than ", bound, "; narrow the range or the series"));
  }

  template <typename F>
  static Column KeepRows(const Column& column, F keep) {
    Column out;
    out.labels = column.labels;
    out.kind = column.kind;
    out.mode = column.mode;
    for (size_t i = 0; i < column.times.size(); ++i) {
      if (!keep(i)) continue;
      out.times.push_back(column.times[i]);
      out.values.push_back(column.values[i]);
      if (!column.steps.empty()) out.steps.push_back(column.steps[i]);
    }
    return out;
  }

  static bool Fits(const SpanQuery& query, const SpanRow& row) {
    const Span& span = row.span;
    const auto has = [](const auto& list, const auto& value) {
      return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
    };
    const bool steps = query.from_step != kNoStep || query.to_step != kMaxPosition;
    return span.end.ns() >= query.range.from_ns && span.start.ns() < query.range.to_ns &&
           has(query.ranks, row.rank) && has(query.kinds, span.kind) &&
           (query.name.empty() || query.name == span.name) &&
           (query.mode.empty() || query.mode == span.mode) &&
           (!steps ||
            (span.step != kNoStep && span.step >= query.from_step && span.step < query.to_step));
  }

  // Returns the matching columns, trimmed to the range and sorted by labels.
  StatusOr<std::vector<Column>> Select(const SeriesQuery& query) const {
    const MutexLock lock(&mutex_);
    const auto job = jobs_.find(query.job);
    if (job == jobs_.end()) return NoJob(query.job);
    std::vector<Column> out;
    size_t rows = 0;
    for (const Column& column : job->second.columns) {
      const bool wanted =
          query.selectors.empty() ||
          std::any_of(query.selectors.begin(), query.selectors.end(),
                      [&](const Selector& selector) { return selector.Matches(column.labels); });
      if (!wanted) continue;
      Column cut = KeepRows(column, [&](size_t i) {
        return column.times[i] >= query.range.from_ns && column.times[i] < query.range.to_ns;
      });
      if (cut.times.empty()) continue;
      rows += cut.times.size();
      out.push_back(std::move(cut));
      if (out.size() > query.limits.series) return TooMuch("series", query.limits.series);
      if (rows > query.limits.rows) return TooMuch("rows", query.limits.rows);
    }
    std::sort(out.begin(), out.end(),
              [](const Column& a, const Column& b) { return a.labels < b.labels; });
    return out;
  }

  ChangeFeed changes_;
  mutable Mutex mutex_;
  std::map<std::string, Job> jobs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::history
