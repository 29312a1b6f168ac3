#include "services/processor/job_parameter_table.h"
#include "services/io/partition_scan.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "services/base/clock.h"
#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/io/topics.h"

namespace pitwall::processor {
namespace {

// Each processor limits only its own writes. If several processors write parameters for their own
// jobs, the topic may temporarily exceed the per-processor limit.
constexpr size_t kMaxJobsRead = 4 * kMaxJobsWithParameters;

auto NameOf(const JobParameter& parameter) { return std::tie(parameter.rule, parameter.name); }

}  // namespace

Status JobParameterTable::Read() {
  if (reader_ == nullptr) {
    ASSIGN_OR_RETURN(reader_, log_->OpenReader({std::string(kRulesTopic), 0}, kFromStart));
    jobs_.clear();
  }
  ASSIGN_OR_RETURN(
      PartitionScan scan,
      PartitionScan::Continue(reader_.get(), {std::string(kRulesTopic), 0}, {.max_records = 64}));
  if (scan.end() < reader_->position()) {  // the topic was deleted and recreated
    reader_ = nullptr;
    return Read();
  }
  while (true) {
    const StatusOr<Record*> record = scan.Next();
    if (!record.ok()) {
      reader_ = nullptr;
      return record.status();
    }
    if (*record == nullptr) return OkStatus();
    Take(**record);
  }
}

void JobParameterTable::Take(const Record& record) {
  if (!StartsWith(record.key, codec::kParametersKeyPrefix)) return;
  const std::string job = record.key.substr(codec::kParametersKeyPrefix.size());
  if (record.tombstone) {
    jobs_.erase(job);
    return;
  }
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
  if (appender_ == nullptr) {
    ASSIGN_OR_RETURN(appender_, log_->OpenAppender());
  }
  OutgoingRecord record{.topic = std::string(kRulesTopic),
                        .partition = 0,
                        .key = codec::ParametersKey(all.job),
                        .value = {},
                        .tombstone = all.parameters.empty()};
  if (!record.tombstone) record.value = codec::EncodeJobParameters(all);
  RETURN_IF_ERROR(
      Annotate(appender_->Append({std::move(record)}), Cat("parameters of job ", Quote(all.job))));
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
