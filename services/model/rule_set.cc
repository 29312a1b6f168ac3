#include "services/model/rule_set.h"

#include "services/base/binary.h"
#include "services/base/text/stable_hash.h"

namespace pitwall {

std::string RuleSetHash(const RuleSet& rules) {
  // Each text is preceded by its length, so different rule sets have different bytes.
  BinaryWriter bytes;
  bytes.I64(rules.evaluation_interval.ns());
  bytes.U64(rules.files.size());
  for (const RuleSetFile& file : rules.files) {
    bytes.Str(file.name);
    bytes.Str(file.text);
  }
  bytes.Bool(rules.overrides.has_value());
  if (rules.overrides.has_value()) {
    bytes.Str(rules.overrides->name);
    bytes.Str(rules.overrides->text);
  }
  // Empty baselines are omitted so that sets without baselines keep their hash.
  if (!rules.baselines.empty()) bytes.U64(rules.baselines.size());
  for (const RuleSetFile& file : rules.baselines) {
    bytes.Str(file.name);
    bytes.Str(file.text);
  }
  return RuleSetHash(StableHashHex(bytes.data()), rules.job_parameters);
}

std::string RuleSetHash(const std::string& base, const std::vector<JobParameter>& parameters) {
  if (parameters.empty()) return base;
  BinaryWriter bytes;
  bytes.Str(base);
  for (const JobParameter& parameter : parameters) {
    bytes.Str(parameter.job);
    bytes.Str(parameter.rule);
    bytes.Str(parameter.name);
    bytes.Double(parameter.value);
  }
  return StableHashHex(bytes.data());
}

}  // namespace pitwall
