#include "rules/plan/program/overrides.h"

#include <algorithm>
#include <cmath>

#include "rules/plan/program/parameter_owner.h"
#include "services/base/text/did_you_mean.h"
#include "services/base/text/strings.h"
#include "services/base/yaml/values.h"
#include "services/base/yaml/yaml.h"

namespace pitwall::plan {
namespace {

using yaml::Problem;
using yaml::StrictMap;

struct KnownParameters {
  std::vector<std::string_view> rules;                             // sorted
  std::vector<std::pair<std::string_view, std::string_view>> all;  // (rule, parameter), sorted

  explicit KnownParameters(const Program& program) {
    for (const DomainPlan& domain : program.domains) {
      for (const Group& group : domain.groups) {
        for (const Rule& rule : group.rules) rules.push_back(rule.name);
      }
      for (const Parameter& parameter : domain.parameters)
        all.emplace_back(parameter.rule, parameter.name);
    }
    std::sort(rules.begin(), rules.end());
    std::sort(all.begin(), all.end());
  }
  std::vector<std::string_view> Of(std::string_view rule) const {
    std::vector<std::string_view> out;
    for (const auto& [owner, name] : all) {
      if (owner == rule) out.push_back(name);
    }
    return out;
  }
};

}  // namespace

std::string_view ParameterSourceName(ParameterSource source) {
  return source == ParameterSource::kRule        ? "rule"
         : source == ParameterSource::kOverrides ? "overrides"
                                                 : "set";
}

std::shared_ptr<const Overrides> Overrides::Parse(std::string_view file_name, std::string_view text,
                                                  const Program& program,
                                                  lang::Diagnostics* diagnostics,
                                                  std::span<const JobParameter> set) {
  auto overrides = std::make_shared<Overrides>();
  for (const JobParameter& one : set) {
    const StatusOr<std::vector<const Parameter*>> meant =
        MatchingNumbers(program, one.rule, one.name);
    if (!meant.ok()) continue;
    for (const Parameter* of : *meant)
      overrides->set_[one.job].push_back({of->rule, of->name, one.value, {}, false});
  }
  const StatusOr<yaml::Node> root = yaml::ParseYaml(file_name, text);
  if (!root.ok()) {
    diagnostics->Error(file_name, ToStd(root.status().message()));
    return overrides;
  }
  const KnownParameters known(program);
  std::vector<Problem> problems;
  size_t structural = 0;
  const auto read_value = [&](const Parameter& of, const yaml::Node::Entry& entry, Block* block) {
    const auto wrong = [&](std::string_view what) {
      problems.push_back({entry.value.position(), Cat("parameter ", Quote(entry.key), what)});
    };
    if (!entry.value.IsScalar() && of.kind == ParameterKind::kText)
      return wrong(" must be a string");
    const StatusOr<double> value = yaml::ToNumber(entry.value);
    if (!value.ok() && of.kind != ParameterKind::kText) return wrong(" must be a number");
    const double number = value.ok() ? *value : 0;
    if (of.kind == ParameterKind::kCount && !(number >= 1 && number == std::floor(number)))
      return wrong(" must be a whole number of samples, at least 1");
    block->values.push_back(
        {of.rule, of.name, number, entry.value.scalar(), of.kind != ParameterKind::kNumber});
  };
  const auto read_rule = [&](const yaml::Node::Entry& entry, Block* block) {
    if (!std::binary_search(known.rules.begin(), known.rules.end(), std::string_view(entry.key))) {
      problems.push_back({entry.key_position, Cat("unknown rule ", Quote(entry.key),
                                                  DidYouMean(entry.key, known.rules))});
      return;
    }
    if (!entry.value.IsMap()) {
      problems.push_back({entry.value.position(),
                          Cat("expected a map of parameters, found ", entry.value.KindName())});
      return;
    }
    const std::vector<std::string_view> names = known.Of(entry.key);
    for (const yaml::Node::Entry& parameter : entry.value.entries()) {
      const std::vector<const Parameter*> meant =
          MatchingParameters(program, entry.key, parameter.key);
      if (meant.empty()) {
        const std::vector<std::string> elsewhere = RulesWithParameter(program, parameter.key);
        problems.push_back(
            {parameter.key_position,
             Cat("rule ", Quote(entry.key), " has no parameter ", Quote(parameter.key),
                 elsewhere.empty() ? DidYouMean(parameter.key, names)
                                   : Cat("; it is a parameter of ", Join(elsewhere, ", ")))});
        continue;
      }
      for (const Parameter* one : meant) read_value(*one, parameter, block);
    }
  };
  const auto read_block = [&](const yaml::Node& node) {
    Block block;
    StrictMap map(node, "an override", &problems);
    block.match = JobMatch::Parse(&map, "an override");
    if (const yaml::Node* rules = map.Get("rules")) {
      if (!rules->IsMap())
        map.Add(rules->position(), Cat("\"rules\": expected a map, found ", rules->KindName()));
      for (const yaml::Node::Entry& entry : rules->entries()) read_rule(entry, &block);
    }
    map.Finish();
    structural += std::any_of(block.values.begin(), block.values.end(),
                              [](const Value& value) { return value.structural; })
                      ? 1
                      : 0;
    if (structural == kMaxVariants + 1) {
      map.Add(node.position(), Cat("more than ", kMaxVariants,
                                   " overrides set a length in samples or the text of a matcher"));
    }
    overrides->blocks_.push_back(std::move(block));
  };
  StrictMap map(*root, "the overrides file", &problems);
  if (const yaml::Node* jobs = map.Get("jobs")) {
    if (!jobs->IsSequence())
      map.Add(jobs->position(), Cat("\"jobs\": expected a list, found ", jobs->KindName()));
    if (jobs->items().size() > kMaxOverrideBlocks) {
      map.Add(jobs->position(), Cat("more than ", kMaxOverrideBlocks, " overrides"));
    } else {
      for (const yaml::Node& node : jobs->items()) read_block(node);
    }
  }
  map.Finish();
  for (const Problem& problem : problems) {
    diagnostics->Add(lang::Severity::kError, root->file(), problem.position, problem.what);
  }
  overrides->structural_ = structural > 0;
  return overrides;
}

std::vector<double> Overrides::ParametersFor(const DomainPlan& domain, std::string_view job_id,
                                             std::string_view job_name, const Labels& job_labels,
                                             std::vector<ParameterSource>* sources) const {
  std::vector<double> values;
  values.reserve(domain.parameters.size());
  for (const Parameter& parameter : domain.parameters) values.push_back(parameter.value);
  if (sources != nullptr) sources->assign(values.size(), ParameterSource::kRule);
  const auto take = [&](const std::vector<Value>& from, ParameterSource source) {
    for (const Value& value : from) {
      for (size_t i = 0; i < domain.parameters.size(); ++i) {
        if (domain.parameters[i].rule != value.rule || domain.parameters[i].name != value.parameter)
          continue;
        values[i] = value.value;
        if (sources != nullptr) (*sources)[i] = source;
      }
    }
  };
  for (const Block& block : blocks_) {
    if (block.match.Matches(job_id, job_name, job_labels))
      take(block.values, ParameterSource::kOverrides);
  }
  if (const auto set = set_.find(job_id); set != set_.end())
    take(set->second, ParameterSource::kSet);
  return values;
}

void Overrides::Bind(const Block& block, lang::JobRegistry* bindings) {
  for (const Value& value : block.values) {
    if (value.structural) (*bindings)[{value.rule, value.parameter}] = value.text;
  }
}

lang::JobRegistry Overrides::BindingsFor(std::string_view job_id, std::string_view job_name,
                                         const Labels& job_labels) const {
  lang::JobRegistry bindings;
  if (!structural_) return bindings;
  for (const Block& block : blocks_) {
    if (block.match.Matches(job_id, job_name, job_labels)) Bind(block, &bindings);
  }
  return bindings;
}

std::vector<lang::JobRegistry> Overrides::AllBindings() const {
  std::vector<lang::JobRegistry> all;
  for (const Block& block : blocks_) {
    lang::JobRegistry bindings;
    Bind(block, &bindings);
    if (!bindings.empty()) all.push_back(std::move(bindings));
  }
  return all;
}

}  // namespace pitwall::plan
