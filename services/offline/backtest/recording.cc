#include "services/offline/backtest/recording.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "services/base/check.h"
#include "services/base/clock.h"
#include "services/base/terminal.h"
#include "services/model/sanitize_text.h"
#include "services/offline/query.h"

namespace pitwall::offline {
namespace {

// Maximum number of jobs, equal to the limit per partition.
constexpr size_t kMaxJobs = 10'000;
// Maximum number of samples kept in memory for expressions at fixed times.
constexpr size_t kMaxReadSamples = 5'000'000;
constexpr std::string_view kFixedTimes = "(at fixed times)";

// Adds a sample time to a hash. A collision costs some memory but cannot change a result.
uint64_t Mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 29);
}

}  // namespace

void Recording::BeginInput(std::string name, std::string job) {
  inputs_.push_back(std::move(name));
  default_job_ = std::move(job);
  routes_.clear();
}

StatusOr<uint32_t> Recording::FindJob(std::string_view id) {
  if (const auto it = jobs_by_id_.find(id); it != jobs_by_id_.end()) return it->second;
  if (StartsWith(id, "__"))
    return InvalidArgument(Cat("job name must not start with __ (got ", Quote(id), ")"));
  if (jobs_.size() >= kMaxJobs)
    return ResourceExhausted(Cat("too many jobs (limit ", kMaxJobs, ")"));
  const auto job = static_cast<uint32_t>(jobs_.size());
  jobs_.emplace_back();
  jobs_.back().id = id;
  jobs_by_id_.emplace(id, job);
  return job;
}

uint32_t Recording::Append(uint32_t job, Labels labels, std::string_view mode) {
  Series added;
  added.job = job;
  added.input = static_cast<uint32_t>(inputs_.size() - 1);
  added.labels = std::move(labels);
  added.mode = mode;
  series_.push_back(std::move(added));
  return static_cast<uint32_t>(series_.size() - 1);
}

Status Recording::AddSeries(uint32_t series, const Labels& given, std::string_view mode) {
  PITWALL_CHECK(series == routes_.size());
  for (const Label& label : given) {
    if (HasControl(label.name) || (label.name == kMetricName && HasControl(label.value)))
      return InvalidArgument(
          Cat(inputs_.empty() ? std::string("input") : inputs_.back(), ": name ",
              Quote(TerminalLine(label.name == kMetricName ? label.value : label.name)),
              " must not contain control characters"));
  }
  const Labels labels = SanitizeText(given);
  const std::string_view named = labels.Get(kJobLabel);
  ASSIGN_OR_RETURN(const uint32_t job,
                   FindJob(named.empty() ? std::string_view(default_job_) : named));
  const Labels own = named.empty() ? labels : labels.With(kJobLabel, "");
  Route route;
  route.series = Append(job, own, mode);
  for (const OtherTimes::Copy& copy : other_times_.copies) {
    if (copy.metric == own.Name())
      route.copies.emplace_back(Append(job, own.With(kMetricName, copy.name)), copy.ahead);
  }
  for (uint32_t i = 0; i < other_times_.constants.size(); ++i) {
    const auto& selectors = other_times_.constants[i].selectors;
    if (std::any_of(selectors.begin(), selectors.end(),
                    [&](const Selector& selector) { return selector.Matches(own); }))
      route.constants.push_back(i);
  }
  routes_.push_back(std::move(route));
  return OkStatus();
}

Status Recording::AddSample(uint32_t series, int64_t time_ns, double value, uint32_t line,
                            int64_t step) {
  const Route& route = routes_[series];
  PITWALL_CHECK((step == kNoStep) == series_[route.series].mode.empty());
  for (const auto& [copy, ahead] : route.copies)
    RETURN_IF_ERROR(AddDerived(copy, time_ns - ahead, value, line));
  for (const uint32_t index : route.constants) {
    const OtherTimes::Constant& constant = other_times_.constants[index];
    if (time_ns > constant.at || time_ns <= constant.at - constant.reach) continue;
    if (++read_samples_ > kMaxReadSamples) {
      return ResourceExhausted(
          Cat("too many samples in windows at fixed times (@); the limit is ", kMaxReadSamples));
    }
    const Series& of = series_[route.series];
    read_[{index, of.job}][of.labels].emplace_back(time_ns, value);
  }
  first_ = std::min(first_, time_ns);
  last_ = std::max(last_, time_ns);
  if (time_ns < from_ || time_ns > to_) {
    ++left_out_;
    return OkStatus();
  }
  ++samples_;
  Job& job = jobs_[series_[route.series].job];
  job.first = std::min(job.first, time_ns);
  job.last = std::max(job.last, time_ns);
  return AddDerived(route.series, time_ns, value, line, step);
}

Status Recording::AddDerived(uint32_t series, int64_t time_ns, double value, uint32_t line,
                             int64_t step) {
  if (time_ns < from_ || time_ns > to_) return OkStatus();
  Series& of = series_[series];
  of.times_hash = Mix(of.times_hash, static_cast<uint64_t>(time_ns));
  if (step != kNoStep) of.times_hash = Mix(of.times_hash, static_cast<uint64_t>(step));
  of.last = std::max(of.last, time_ns);
  return sorter_.Add({time_ns, value, step, series, line});
}

Status Recording::Finish(int64_t start) {
  for (const auto& [key, read] : read_) {
    if (inputs_.empty() || inputs_.back() != kFixedTimes) BeginInput(std::string(kFixedTimes), "");
    const OtherTimes::Constant& constant = other_times_.constants[key.first];
    RETURN_IF_ERROR(Annotate(AddConstant(constant, key.second, start, read), constant.name));
  }
  read_.clear();
  return sorter_.Finish();
}

Status Recording::AddConstant(const OtherTimes::Constant& constant, uint32_t job, int64_t start,
                              const std::map<Labels, Samples>& read) {
  std::vector<QuerySeries> all;
  for (const auto& [labels, samples] : read) {
    QuerySeries one{labels, samples};
    // If several inputs have a sample at the same time, the sample from the first input is used.
    std::stable_sort(one.samples.begin(), one.samples.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    one.samples.erase(std::unique(one.samples.begin(), one.samples.end(),
                                  [](const auto& a, const auto& b) { return a.first == b.first; }),
                      one.samples.end());
    all.push_back(std::move(one));
  }
  Query query;
  query.expr = constant.expr;
  query.start = query.end = constant.at;
  query.lookback = constant.lookback;
  query.subquery_interval = constant.subquery_interval;
  ASSIGN_OR_RETURN(const QueryAnswer answer, RunQuery(all, query));
  const int64_t begin = FloorTo(std::max(jobs_[job].first, start), kNanosPerSecond);
  // This interval is short enough for the look-back to find a sample at every tick.
  const int64_t every = std::max<int64_t>(constant.lookback / 2, 1);
  for (const QueryElement& element : answer.ticks.at(0).elements) {
    const uint32_t series = Append(job, element.labels.With(kMetricName, constant.name));
    for (int64_t at = begin; at <= jobs_[job].last; at += every)
      RETURN_IF_ERROR(AddDerived(series, at, element.value, 0));
  }
  return OkStatus();
}

StatusOr<bool> Recording::Next(TimedSample* sample) {
  if (ahead_) {
    *sample = *std::exchange(ahead_, std::nullopt);
  } else {
    ASSIGN_OR_RETURN(const bool more, sorter_.Next(sample));
    if (!more) return false;
  }
  // The sorter returns samples with the same series and time consecutively, in line order.
  while (true) {
    TimedSample next;
    ASSIGN_OR_RETURN(const bool more, sorter_.Next(&next));
    if (!more) return true;
    const bool again =
        next.time_ns == sample->time_ns && next.series == sample->series && sample->line != 0;
    if (!again) {
      ahead_ = next;
      return true;
    }
    if (std::bit_cast<uint64_t>(next.value) == std::bit_cast<uint64_t>(sample->value)) continue;
    if (duplicates_ == Duplicates::kRefuse) {
      const Series& series = series_[next.series];
      return InvalidArgument(
          Cat(inputs_[series.input], ":", next.line, ":1: ", series.labels.ToString(),
              " has a different value at this time on line ", sample->line,
              "; use --duplicates first or --duplicates last to keep one of them"));
    }
    ++replaced_;
    if (duplicates_ == Duplicates::kLast) *sample = next;
  }
}

}  // namespace pitwall::offline
