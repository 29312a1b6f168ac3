#include "services/codec/rule_set_codec.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "pitwall/state/v1/state.pb.h"
#include "services/base/text/strings.h"
#include "services/codec/quiet_protobuf.h"

namespace pitwall::codec {
namespace {
constexpr size_t kRecordBytes = 16u << 20;
constexpr int kFiles = 4096;

// Returns InvalidArgument unless the parameters are sorted, unique, and finite.
Status CheckParameters(const std::vector<JobParameter>& parameters) {
  const auto key = [](const JobParameter& p) { return std::tie(p.job, p.rule, p.name); };
  for (size_t i = 0; i < parameters.size(); ++i) {
    const JobParameter& one = parameters[i];
    if (!std::isfinite(one.value))
      return InvalidArgument(Cat("rule set: parameter ", Quote(one.name), " of job ",
                                 Quote(one.job), " is not finite"));
    if (i > 0 && key(parameters[i - 1]) >= key(one))
      return InvalidArgument(Cat("rule set: parameter ", Quote(one.name), " of job ",
                                 Quote(one.job), " is a duplicate or out of order"));
  }
  return OkStatus();
}

StatusOr<RuleSet> DecodeLayer(const state::v1::RuleSet& message, const FindBase& find_base) {
  std::vector<JobParameter> parameters;
  for (const state::v1::JobParameter& one : message.job_parameters())
    parameters.push_back({one.job(), one.rule(), one.name(), one.value()});
  RETURN_IF_ERROR(CheckParameters(parameters));
  if (parameters.empty() || message.files_size() > 0)
    return InvalidArgument(
        "rule set: a base requires job parameters and cannot be combined with files");
  const std::string hash = RuleSetHash(message.base(), parameters);
  if (message.hash() != hash) {
    return DataLoss(
        Cat("rule set ", Quote(message.hash()), ": hash does not match the content (", hash, ")"));
  }
  if (!find_base)
    return FailedPrecondition(
        Cat("rule set ", hash, " requires the base rule set ", message.base()));
  ASSIGN_OR_RETURN(RuleSet rules, find_base(message.base()));
  if (!rules.job_parameters.empty() || RuleSetHash(rules) != message.base())
    return DataLoss(
        Cat("rule set ", hash, ": the base rule set does not match hash ", message.base()));
  rules.job_parameters = std::move(parameters);
  return rules;
}
}  // namespace

std::string EncodeRuleSet(const RuleSet& rules) {
  state::v1::RuleSet message;
  message.set_hash(RuleSetHash(rules));
  if (!rules.job_parameters.empty()) {
    RuleSet base = rules;
    base.job_parameters.clear();
    message.set_base(RuleSetHash(base));
    for (const JobParameter& one : rules.job_parameters) {
      state::v1::JobParameter* p = message.add_job_parameters();
      p->set_job(one.job);
      p->set_rule(one.rule);
      p->set_name(one.name);
      p->set_value(one.value);
    }
    return message.SerializeAsString();
  }
  for (const RuleSetFile& file : rules.files) {
    state::v1::RuleFile* f = message.add_files();
    f->set_name(file.name);
    f->set_content(file.text);
  }
  if (rules.overrides.has_value()) {
    message.mutable_overrides()->set_name(rules.overrides->name);
    message.mutable_overrides()->set_content(rules.overrides->text);
  }
  for (const RuleSetFile& file : rules.baselines) {
    state::v1::RuleFile* f = message.add_baselines();
    f->set_name(file.name);
    f->set_content(file.text);
  }
  message.set_evaluation_interval_ns(rules.evaluation_interval.ns());
  return message.SerializeAsString();
}

StatusOr<RuleSet> DecodeRuleSet(std::string_view bytes, const FindBase& find_base) {
  QuietProtobuf();
  if (bytes.size() > kRecordBytes) {
    return InvalidArgument(
        Cat("rule set: is ", bytes.size(), " bytes long; the limit is ", kRecordBytes));
  }
  state::v1::RuleSet message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidArgument(
        Cat("not a RuleSet: truncated, damaged, or not valid UTF-8 (", bytes.size(), " bytes)"));
  }
  if (const int files = std::max(message.files_size(), message.baselines_size()); files > kFiles)
    return InvalidArgument(Cat("rule set: has ", files, " files; the limit is ", kFiles));
  if (!message.base().empty()) return DecodeLayer(message, find_base);
  if (message.evaluation_interval_ns() <= 0) {
    return InvalidArgument(Cat("rule set: evaluation interval must be greater than 0 (got ",
                               message.evaluation_interval_ns(), " ns)"));
  }
  RuleSet rules;
  for (const state::v1::RuleFile& file : message.files())
    rules.files.push_back({file.name(), file.content()});
  if (message.has_overrides())
    rules.overrides = RuleSetFile{message.overrides().name(), message.overrides().content()};
  for (const state::v1::RuleFile& file : message.baselines())
    rules.baselines.push_back({file.name(), file.content()});
  rules.evaluation_interval = Duration::Nanos(message.evaluation_interval_ns());
  std::vector<std::string_view> names;
  for (const RuleSetFile& file : rules.files) names.push_back(file.name);
  std::sort(names.begin(), names.end());
  const auto twin = std::adjacent_find(names.begin(), names.end());
  if (twin != names.end())
    return InvalidArgument(Cat("rule set: two files are named ", Quote(*twin)));
  const std::string hash = RuleSetHash(rules);
  if (message.hash() != hash) {
    return DataLoss(
        Cat("rule set ", Quote(message.hash()), ": hash does not match the content (", hash, ")"));
  }
  return rules;
}

std::string ParametersKey(std::string_view job) { return Cat(kParametersKeyPrefix, job); }

std::string EncodeJobParameters(const JobParameters& all) {
  state::v1::JobParameters message;
  message.set_job(all.job);
  message.set_over_since_ns(all.over_since.ns());
  for (const SetParameter& one : all.parameters) {
    state::v1::JobParameter* p = message.add_parameters();
    p->set_rule(one.parameter.rule);
    p->set_name(one.parameter.name);
    p->set_value(one.parameter.value);
    p->set_principal(one.principal);
    p->set_set_ns(one.set_ns);
    p->set_request(one.request);
  }
  return message.SerializeAsString();
}

StatusOr<JobParameters> DecodeJobParameters(std::string_view bytes) {
  QuietProtobuf();
  state::v1::JobParameters message;
  if (bytes.size() > kRecordBytes ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      message.job().empty()) {
    return InvalidArgument(
        Cat("not a JobParameters message: too large, truncated, damaged, or without a job (",
            bytes.size(), " bytes)"));
  }
  JobParameters all{message.job(), {}, EventTime::FromNs(message.over_since_ns())};
  std::vector<JobParameter> parameters;
  for (const state::v1::JobParameter& one : message.parameters()) {
    parameters.push_back({message.job(), one.rule(), one.name(), one.value()});
    all.parameters.push_back({parameters.back(), one.principal(), one.set_ns(), one.request()});
  }
  RETURN_IF_ERROR(CheckParameters(parameters));
  return all;
}

}  // namespace pitwall::codec
