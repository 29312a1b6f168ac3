#include "services/tools/recording.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "services/base/check.h"

namespace pitwall::tools {
namespace {

// As many as one partition runs.
constexpr size_t kMaxJobs = 10'000;

// One step of a hash over times; an accidental equality costs memory, never a result.
uint64_t Mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 29);
}

}  // namespace

void Recording::BeginInput(std::string name, std::string job) {
  inputs_.push_back(std::move(name));
  default_job_ = std::move(job);
  first_series_ = static_cast<uint32_t>(series_.size());
}

StatusOr<uint32_t> Recording::FindJob(std::string_view id) {
  if (const auto it = jobs_by_id_.find(id); it != jobs_by_id_.end()) return it->second;
  if (StartsWith(id, "__"))
    return InvalidArgument(Cat("a job cannot be called ", Quote(id), ": it begins with __"));
  if (jobs_.size() >= kMaxJobs) return ResourceExhausted(Cat("more than ", kMaxJobs, " jobs"));
  const auto job = static_cast<uint32_t>(jobs_.size());
  jobs_.emplace_back();
  jobs_.back().id = id;
  jobs_by_id_.emplace(id, job);
  return job;
}

Status Recording::AddSeries(uint32_t series, const Labels& labels) {
  PITWALL_CHECK(first_series_ + series == series_.size());
  const std::string_view named = labels.Get(kJobLabel);
  Series added;
  ASSIGN_OR_RETURN(added.job, FindJob(named.empty() ? std::string_view(default_job_) : named));
  added.input = static_cast<uint32_t>(inputs_.size() - 1);
  added.labels = named.empty() ? labels : labels.With(kJobLabel, "");
  series_.push_back(std::move(added));
  return OkStatus();
}

Status Recording::AddSample(uint32_t series, int64_t time_ns, double value, uint32_t line) {
  if (time_ns < from_ || time_ns > to_) {
    ++left_out_;
    return OkStatus();
  }
  ++samples_;
  Series& of = series_[first_series_ + series];
  of.times_hash = Mix(of.times_hash, static_cast<uint64_t>(time_ns));
  Job& job = jobs_[of.job];
  job.first = std::min(job.first, time_ns);
  job.last = std::max(job.last, time_ns);
  return sorter_.Add({time_ns, value, first_series_ + series, line});
}

StatusOr<bool> Recording::Next(TimedSample* sample) {
  while (true) {
    ASSIGN_OR_RETURN(const bool more, sorter_.Next(sample));
    if (!more) return false;
    const bool again =
        sample->time_ns == before_.time_ns && sample->series == before_.series && before_.line != 0;
    if (!again) break;
    if (std::bit_cast<uint64_t>(sample->value) != std::bit_cast<uint64_t>(before_.value)) {
      const Series& series = series_[sample->series];
      return InvalidArgument(Cat(inputs_[series.input], ":", sample->line,
                                 ":1: ", series.labels.ToString(),
                                 " has another value at this time in line ", before_.line));
    }
  }
  before_ = *sample;
  return true;
}

}  // namespace pitwall::tools
