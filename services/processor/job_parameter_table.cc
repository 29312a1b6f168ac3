#include "services/processor/job_parameter_table.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/io/topics.h"

namespace pitwall::processor {
namespace {

// Each processor limits only its own writes. If several processors write parameters for their own
// jobs, the topic may temporarily exceed the per-processor limit.
constexpr size_t kMaxJobsRead = 4 * kMaxJobsWithParameters;

auto NameOf(const JobParameter& parameter) { return std::tie(parameter.rule, parameter.name); }

std::string JobOf(std::string_view key) {
  return std::string(key.substr(codec::kParametersKeyPrefix.size()));
}

}  // namespace

// The topic also contains the rule sets, with other keys.
JobParameterTable::JobParameterTable(Clock* clock, Log* log)
    : table_(clock, log, std::string(kRulesTopic),
             {.put = [this](const Record& record) { Put(record); },
              .remove =
                  [this](const std::string& key) {
                    if (StartsWith(key, codec::kParametersKeyPrefix)) jobs_.erase(JobOf(key));
                  },
              .replaced =
                  [this](const Status& why) {
                    PITWALL_LOG(kError, "processor", ToStd(why.message()));
                    jobs_.clear();
                  }}) {}

void JobParameterTable::Put(const Record& record) {
  if (!StartsWith(record.key, codec::kParametersKeyPrefix)) return;
  const std::string job = JobOf(record.key);
  StatusOr<codec::JobParameters> all = codec::DecodeJobParameters(record.value);
  const std::string problem = !all.ok()             ? std::string(ToStd(all.status().message()))
                              : all->job != job     ? Cat("its job is ", Quote(all->job))
                              : jobs_.contains(job) ? ""
                              : jobs_.size() < kMaxJobsRead
                                  ? ""
                                  : Cat("more than ", kMaxJobsRead, " jobs");
  if (problem.empty()) {
    jobs_[job] = *std::move(all);
  } else {
    PITWALL_LOG(kError, "processor", kRulesTopic, " offset ", record.offset, ": parameters of job ",
                Quote(job), " are ignored: ", problem);
  }
}

Status JobParameterTable::Write(const codec::JobParameters& all) {
  OutgoingRecord record{.topic = std::string(kRulesTopic),
                        .partition = 0,
                        .key = codec::ParametersKey(all.job),
                        .value = {},
                        .tombstone = all.parameters.empty()};
  if (!record.tombstone) record.value = codec::EncodeJobParameters(all);
  RETURN_IF_ERROR(
      Annotate(table_.Write({std::move(record)}), Cat("parameters of job ", Quote(all.job))));
  return Read();
}

const codec::JobParameters* JobParameterTable::Find(const std::string& job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? nullptr : &found->second;
}

StatusOr<codec::JobParameters> JobParameterTable::With(const codec::SetParameter& change) const {
  codec::JobParameters all = Without(change.parameter);
  if (all.parameters.size() >= kMaxParametersOfJob) {
    return ResourceExhausted(Cat("job: the limit of ", kMaxParametersOfJob,
                                 " parameters is reached; reset one of them first"));
  }
  if (jobs_.size() >= kMaxJobsWithParameters && !jobs_.contains(all.job)) {
    return ResourceExhausted(Cat("job: the limit of ", kMaxJobsWithParameters,
                                 " jobs with parameters is reached; reset another job's parameters "
                                 "first, or use the overrides file"));
  }
  const auto at = std::find_if(all.parameters.begin(), all.parameters.end(), [&](const auto& one) {
    return NameOf(change.parameter) < NameOf(one.parameter);
  });
  all.parameters.insert(at, change);
  return all;
}

codec::JobParameters JobParameterTable::Without(const JobParameter& of) const {
  codec::JobParameters all;
  if (const codec::JobParameters* known = Find(of.job)) all = *known;
  all.job = of.job;
  all.over_since = EventTime();
  std::erase_if(all.parameters,
                [&](const auto& one) { return NameOf(one.parameter) == NameOf(of); });
  return all;
}

std::vector<std::string> JobParameterTable::Jobs() const {
  std::vector<std::string> jobs;
  for (const auto& [job, all] : jobs_) jobs.push_back(job);
  return jobs;
}

std::vector<JobParameter> JobParameterTable::Layer() const {
  std::vector<JobParameter> layer;
  for (const auto& [job, all] : jobs_) {
    for (const codec::SetParameter& one : all.parameters) layer.push_back(one.parameter);
  }
  return layer;
}

}  // namespace pitwall::processor
