#include "services/history/promapi/series_reader.h"

#include <algorithm>

#include "services/base/text/strings.h"

namespace pitwall::promapi {
namespace {

using history::JobLifePtr;

// Selector, split into its job matchers and the remaining matchers.
struct JobSelector {
  explicit JobSelector(const Selector& selector) {
    for (const Matcher& matcher : selector.matchers)
      (matcher.label() == kJobLabel ? job : rest).matchers.push_back(matcher);
  }
  bool Takes(const std::string& id) const {
    return std::all_of(job.matchers.begin(), job.matchers.end(),
                       [&](const Matcher& matcher) { return matcher.Matches(id); });
  }

  Selector job, rest;
};

bool Overlaps(const history::JobOverview& job, int64_t from, int64_t to) {
  return job.first_ns <= to && job.last_ns >= from;
}

Status TooManyJobs(size_t most) {
  return ResourceExhausted(Cat("the query reads more than ", most, " jobs; add a matcher on ",
                               kJobLabel, " or use a shorter range"));
}

history::TimeRange Closed(int64_t from, int64_t to) {
  history::TimeRange range;
  range.from_ns = from;
  range.to_ns = to >= kMaxPosition ? kMaxPosition : to + 1;
  return range;
}

}  // namespace

SeriesReader::SeriesReader(const history::History* history, const PromOptions& options,
                           std::function<Status()> check)
    : history_(history), options_(options), check_(std::move(check)), left_(options.limits) {}

std::vector<JobLifePtr> SeriesReader::ListJobs() {
  history::JobList list = history_->ListJobs();
  missing_.Add(list.missing);
  return std::move(list.jobs);
}

StatusOr<ReadSamples> SeriesReader::Samples(const Selector& selector, int64_t from, int64_t to) {
  ReadSamples out;
  const JobSelector wanted(selector);
  size_t jobs = 0;
  for (const JobLifePtr& job : ListJobs()) {
    if (!wanted.Takes(job->id) || !Overlaps(*job, from + 1, to)) continue;
    if (++jobs > options_.max_jobs) return TooManyJobs(options_.max_jobs);
    RETURN_IF_ERROR(check_());
    history::SampleQuery query;
    query.job = job->id;
    query.selectors = {wanted.rest};
    query.range = Closed(from + 1, to);
    query.limits = left_;
    query.stale_markers = true;
    auto columns = history_->Samples(query);
    // The job was deleted while the query was running.
    if (columns.status().code() == absl::StatusCode::kNotFound) continue;
    RETURN_IF_ERROR(columns.status());
    left_.series -= std::min(left_.series, columns->size());
    for (const history::SampleColumn& column : *columns) {
      left_.rows -= std::min(left_.rows, column.times.size());
      samples_read_ += column.times.size();
      if (column.times.empty()) continue;
      out.series.push_back({column.labels.With(kJobLabel, job->id), column.times, column.values});
    }
    out.columns.push_back(
        std::make_unique<std::vector<history::SampleColumn>>(*std::move(columns)));
  }
  return out;
}

StatusOr<std::vector<Labels>> SeriesReader::Series(std::span<const Selector> selectors,
                                                   int64_t from, int64_t to) {
  std::vector<JobSelector> wanted;
  for (const Selector& selector : selectors) wanted.emplace_back(selector);
  std::vector<Labels> out;
  size_t jobs = 0;
  for (const JobLifePtr& job : ListJobs()) {
    if (!Overlaps(*job, from, to)) continue;
    history::SeriesQuery query;
    for (const JobSelector& selector : wanted) {
      if (selector.Takes(job->id)) query.selectors.push_back(selector.rest);
    }
    if (query.selectors.empty() && !wanted.empty()) continue;
    if (++jobs > options_.max_jobs) return TooManyJobs(options_.max_jobs);
    RETURN_IF_ERROR(check_());
    query.job = job->id;
    query.range = Closed(from, to);
    query.limits = left_;
    const auto series = history_->Series(query);
    if (series.status().code() == absl::StatusCode::kNotFound) continue;
    RETURN_IF_ERROR(series.status());
    left_.series -= std::min(left_.series, series->size());
    for (const history::SeriesInfo& info : *series)
      out.push_back(info.labels.With(kJobLabel, job->id));
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

StatusOr<std::vector<std::string>> SeriesReader::Jobs(int64_t from, int64_t to) {
  std::vector<std::string> out;
  for (const JobLifePtr& job : ListJobs()) {
    if (!Overlaps(*job, from, to)) continue;
    if (out.size() == options_.max_jobs) return TooManyJobs(options_.max_jobs);
    out.push_back(job->id);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace pitwall::promapi
