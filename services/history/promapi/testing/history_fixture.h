// Fake history that returns predefined samples.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/base/text/strings.h"
#include "services/history/change_feed.h"
#include "services/history/history.h"
#include "services/model/value.h"

namespace pitwall::promapi {

class HistoryForTest final : public history::History {
 public:
  // Adds a series. Its samples must be in time order. Stale markers are returned only to readers
  // that request them.
  void AddSeries(const std::string& job, history::SampleColumn column) {
    history::JobOverview& life = JobOf(job);
    if (!column.times.empty()) {
      const bool first = series_[job].empty();
      life.first_ns = first ? column.times.front() : std::min(life.first_ns, column.times.front());
      life.last_ns = std::max(life.last_ns, column.times.back());
    }
    std::vector<history::SampleColumn>& list = series_[job];
    list.push_back(std::move(column));
    std::sort(list.begin(), list.end(),
              [](const auto& a, const auto& b) { return a.labels < b.labels; });
  }
  void AddEvent(IssueEvent event) {
    history::JobOverview& life = JobOf(event.job);
    life.last_ns = std::max(life.last_ns, event.time.ns());
    if (event.type == EventType::kIssueFound) ++life.open.count;
    if (event.type == EventType::kIssueResolved) --life.open.count;
    const std::string job = event.job;
    events_[job].push_back(std::make_shared<const IssueEvent>(std::move(event)));
  }
  history::JobOverview& JobOf(const std::string& id) {
    history::JobOverview& life = jobs_[id];
    life.id = id;
    return life;
  }
  // Returns the number of samples returned to readers.
  size_t samples_given() const { return given_; }

  history::JobList ListJobs() const override {
    history::JobList out;
    for (const auto& [id, life] : jobs_)
      out.jobs.push_back(std::make_shared<const history::JobOverview>(life));
    return out;
  }
  StatusOr<history::JobLifePtr> FindJob(std::string_view job) const override {
    const auto at = jobs_.find(std::string(job));
    if (at == jobs_.end()) return NotFound(Cat("no job ", job));
    return std::make_shared<const history::JobOverview>(at->second);
  }
  StatusOr<std::vector<history::SeriesInfo>> Series(
      const history::SeriesQuery& query) const override {
    std::vector<history::SeriesInfo> out;
    const auto at = series_.find(query.job);
    if (at == series_.end()) return out;
    for (const history::SampleColumn& column : at->second) {
      if (!Wanted(query, column) || column.times.empty()) continue;
      if (column.times.front() >= query.range.to_ns || column.times.back() < query.range.from_ns)
        continue;
      if (out.size() == query.limits.series) return ResourceExhausted("too many series");
      out.push_back({column.labels, column.kind, column.times.front(), column.times.back()});
    }
    return out;
  }
  StatusOr<std::vector<history::SampleColumn>> Samples(
      const history::SampleQuery& query) const override {
    std::vector<history::SampleColumn> out;
    size_t rows = 0;
    const auto at = series_.find(query.job);
    if (at == series_.end()) return out;
    for (const history::SampleColumn& column : at->second) {
      if (!Wanted(query, column)) continue;
      history::SampleColumn part;
      part.labels = column.labels;
      part.kind = column.kind;
      for (size_t i = 0; i < column.times.size(); ++i) {
        const int64_t time = column.times[i];
        if (time < query.range.from_ns || time >= query.range.to_ns) continue;
        if (IsStale(column.values[i]) && !query.stale_markers) continue;
        part.times.push_back(time);
        part.values.push_back(column.values[i]);
      }
      rows += part.times.size();
      if (part.times.empty()) continue;
      if (out.size() == query.limits.series) return ResourceExhausted("too many series");
      if (rows > query.limits.rows) return ResourceExhausted("too many samples");
      out.push_back(std::move(part));
    }
    given_ += rows;
    return out;
  }
  StatusOr<history::JobRecords> Records(std::string_view job,
                                        history::EventTopic topic) const override {
    if (topic != history::EventTopic::kIssues) return Unimplemented("not here");
    history::JobRecords out;
    const auto at = events_.find(std::string(job));
    if (at != events_.end()) out.events = at->second;
    return out;
  }

  // The API does not use these methods.
  StatusOr<std::vector<history::RollupColumn>> Rollups(const history::SeriesQuery&,
                                                       size_t) const override {
    return Unimplemented("not here");
  }
  StatusOr<std::vector<history::QuantileRow>> Quantiles(const history::SeriesQuery&,
                                                        std::span<const double>) const override {
    return Unimplemented("not here");
  }
  StatusOr<history::SpanPage> SpansPage(const history::SpanQuery&, size_t, size_t) const override {
    return Unimplemented("not here");
  }
  StatusOr<std::vector<history::OperatorTotal>> Operators(
      const history::SpanQuery&) const override {
    return Unimplemented("not here");
  }
  const history::ChangeFeed& changes() const override { return changes_; }

 private:
  static bool Wanted(const history::SeriesQuery& query, const history::SampleColumn& column) {
    return query.selectors.empty() ||
           std::any_of(query.selectors.begin(), query.selectors.end(),
                       [&](const Selector& s) { return s.Matches(column.labels); });
  }

  const history::ChangeFeed changes_{0};
  std::map<std::string, history::JobOverview> jobs_;
  std::map<std::string, std::vector<history::SampleColumn>> series_;
  std::map<std::string, std::vector<IssueEventPtr>> events_;
  mutable size_t given_ = 0;  // only one reader at a time is supported
};

}  // namespace pitwall::promapi
