// A history that is given, in vectors.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/base/text/strings.h"
#include "services/insights/history.h"
#include "services/model/value.h"

namespace pitwall::promapi {

class HistoryForTest final : public insights::History {
 public:
  // Samples must ascend. Stale markers among them are given only to who asks for them.
  void AddSeries(const std::string& job, insights::SampleColumn column) {
    insights::JobLife& life = JobOf(job);
    if (!column.times_ns.empty()) {
      const bool first = series_[job].empty();
      life.first_ns =
          first ? column.times_ns.front() : std::min(life.first_ns, column.times_ns.front());
      life.last_ns = std::max(life.last_ns, column.times_ns.back());
    }
    std::vector<insights::SampleColumn>& list = series_[job];
    list.push_back(std::move(column));
    std::sort(list.begin(), list.end(),
              [](const auto& a, const auto& b) { return a.labels < b.labels; });
  }
  void AddEvent(IssueEvent event) {
    insights::JobLife& life = JobOf(event.job);
    life.last_ns = std::max(life.last_ns, event.time_ns);
    if (event.type == EventType::kIssueFound) ++life.open_issues;
    if (event.type == EventType::kIssueResolved) --life.open_issues;
    const std::string job = event.job;
    events_[job].push_back(std::make_shared<const IssueEvent>(std::move(event)));
  }
  insights::JobLife& JobOf(const std::string& id) {
    insights::JobLife& life = jobs_[id];
    life.id = id;
    return life;
  }
  // Samples that were given to readers so far.
  size_t samples_given() const { return given_; }

  std::vector<insights::JobLifePtr> Jobs() const override {
    std::vector<insights::JobLifePtr> out;
    for (const auto& [id, life] : jobs_)
      out.push_back(std::make_shared<const insights::JobLife>(life));
    return out;
  }
  StatusOr<insights::JobLifePtr> FindJob(std::string_view job) const override {
    const auto at = jobs_.find(std::string(job));
    if (at == jobs_.end()) return NotFound(Cat("no job ", job));
    return std::make_shared<const insights::JobLife>(at->second);
  }
  StatusOr<std::vector<insights::SeriesInfo>> Series(
      const insights::SeriesQuery& query) const override {
    std::vector<insights::SeriesInfo> out;
    const auto at = series_.find(query.job);
    if (at == series_.end()) return out;
    for (const insights::SampleColumn& column : at->second) {
      if (!Wanted(query, column) || column.times_ns.empty()) continue;
      if (column.times_ns.front() >= query.range.to_ns ||
          column.times_ns.back() < query.range.from_ns)
        continue;
      if (out.size() == query.limits.series) return ResourceExhausted("too many series");
      out.push_back({column.labels, column.kind, column.times_ns.front(), column.times_ns.back()});
    }
    return out;
  }
  StatusOr<std::vector<insights::SampleColumn>> Samples(
      const insights::SampleQuery& query) const override {
    std::vector<insights::SampleColumn> out;
    size_t rows = 0;
    const auto at = series_.find(query.job);
    if (at == series_.end()) return out;
    for (const insights::SampleColumn& column : at->second) {
      if (!Wanted(query, column)) continue;
      insights::SampleColumn part;
      part.labels = column.labels;
      part.kind = column.kind;
      for (size_t i = 0; i < column.times_ns.size(); ++i) {
        const int64_t time = column.times_ns[i];
        if (time < query.range.from_ns || time >= query.range.to_ns) continue;
        if (IsStale(column.values[i]) && !query.stale_markers) continue;
        part.times_ns.push_back(time);
        part.values.push_back(column.values[i]);
      }
      rows += part.times_ns.size();
      if (part.times_ns.empty()) continue;
      if (out.size() == query.limits.series) return ResourceExhausted("too many series");
      if (rows > query.limits.rows) return ResourceExhausted("too many samples");
      out.push_back(std::move(part));
    }
    given_ += rows;
    return out;
  }
  StatusOr<std::vector<IssueEventPtr>> Events(std::string_view job) const override {
    const auto at = events_.find(std::string(job));
    return at == events_.end() ? std::vector<IssueEventPtr>() : at->second;
  }

  // What the API does not read.
  StatusOr<std::vector<insights::RollupColumn>> Rollups(const insights::SeriesQuery&,
                                                        size_t) const override {
    return Unimplemented("not here");
  }
  StatusOr<std::vector<insights::QuantileRow>> Quantiles(const insights::SeriesQuery&,
                                                         std::span<const double>) const override {
    return Unimplemented("not here");
  }
  StatusOr<std::vector<insights::SpanRow>> Spans(const insights::SpanQuery&) const override {
    return Unimplemented("not here");
  }
  StatusOr<std::vector<insights::OperatorTotal>> Operators(
      const insights::SpanQuery&) const override {
    return Unimplemented("not here");
  }
  StatusOr<std::vector<ActionEvent>> Actions(std::string_view) const override {
    return Unimplemented("not here");
  }
  StatusOr<std::vector<RankCapture>> Captures(std::string_view) const override {
    return Unimplemented("not here");
  }
  StatusOr<std::vector<ToldNotice>> Told(std::string_view) const override {
    return Unimplemented("not here");
  }
  StatusOr<std::vector<insights::Change>> ChangesAfter(uint64_t, size_t) const override {
    return Unimplemented("not here");
  }
  uint64_t newest_place() const override { return 0; }

 private:
  static bool Wanted(const insights::SeriesQuery& query, const insights::SampleColumn& column) {
    return query.selectors.empty() ||
           std::any_of(query.selectors.begin(), query.selectors.end(),
                       [&](const Selector& s) { return s.Matches(column.labels); });
  }

  std::map<std::string, insights::JobLife> jobs_;
  std::map<std::string, std::vector<insights::SampleColumn>> series_;
  std::map<std::string, std::vector<IssueEventPtr>> events_;
  mutable size_t given_ = 0;  // one reader at a time
};

}  // namespace pitwall::promapi
