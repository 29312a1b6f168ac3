#include "rules/check/metric_catalog.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <span>

#include "rules/check/metrics_text.h"
#include "services/base/terminal.h"
#include "services/base/yaml/yaml.h"

namespace pitwall::check {
namespace {

using yaml::Node;
using yaml::Problem;
using yaml::StrictMap;

// Returns the index in `names` of the key's value, or reports an error.
int ReadChoice(StrictMap& map, std::string_view key, std::span<const std::string_view> names) {
  const std::string text = map.String(key).value_or("");
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return static_cast<int>(i);
  }
  map.Add(map.KeyPosition(key),
          Cat(Quote(key), " must be one of ",
              Join(std::vector<std::string>(names.begin(), names.end()), ", "), ", found ",
              Quote(text)));
  return 0;
}

MetricInfo ReadMetric(const Node& node, std::vector<Problem>* problems) {
  constexpr std::string_view kKinds[] = {"gauge", "counter"};
  constexpr std::string_view kClocks[] = {"time", "step"};
  constexpr std::string_view kProducers[] = {"collector", "client", "engine", "foreign"};
  MetricInfo metric;
  StrictMap map(node, "a metric", problems);
  for (const auto& [key, field] : {std::pair{"name", &metric.name}, std::pair{"unit", &metric.unit},
                                   std::pair{"help", &metric.help}}) {
    *field = map.String(key).value_or("");
    if (field->empty()) map.Add(map.KeyPosition(key), Cat("a metric needs ", Quote(key)));
  }
  metric.kind = static_cast<MetricKind>(ReadChoice(map, "kind", kKinds));
  metric.has_steps = ReadChoice(map, "clock", kClocks) == 1;
  metric.producer = static_cast<Producer>(ReadChoice(map, "producer", kProducers));
  metric.labels = map.Strings("labels").value_or(std::vector<std::string>());
  if (const Node* aliases = map.Get("aliases")) {
    for (const Node& item : aliases->items()) {
      StrictMap alias(item, "an alias", problems);
      MetricAlias out{alias.String("name").value_or(""), alias.Number("factor").value_or(1)};
      if (out.name.empty()) alias.Add(item.position(), "an alias needs \"name\"");
      if (!std::isfinite(out.factor) || out.factor == 0) alias.Add(item.position(), "bad factor");
      alias.Finish();
      metric.aliases.push_back(std::move(out));
    }
  }
  map.Finish();
  return metric;
}

}  // namespace

StatusOr<MetricCatalog> MetricCatalog::Parse(std::string_view file_name, std::string_view text) {
  ASSIGN_OR_RETURN(const Node root, yaml::ParseYaml(file_name, text));
  std::vector<Problem> problems;
  MetricCatalog catalog;
  StrictMap map(root, "the metrics file", &problems);
  if (const Node* metrics = map.Get("metrics")) {
    for (const Node& node : metrics->items()) {
      MetricInfo metric = ReadMetric(node, &problems);
      const size_t index = catalog.metrics_.size();
      std::vector<std::string> names = {metric.name};
      for (const MetricAlias& alias : metric.aliases) names.push_back(alias.name);
      for (const std::string& name : names) {
        if (!catalog.index_.emplace(name, index).second) {
          map.Add(node.position(), Cat("metric ", Quote(name), " is a duplicate"));
        }
        catalog.names_.push_back(name);
      }
      catalog.metrics_.push_back(std::move(metric));
    }
  }
  map.Finish();
  RETURN_IF_ERROR(yaml::ToStatus(root, problems));
  std::sort(catalog.names_.begin(), catalog.names_.end());
  return catalog;
}

const MetricCatalog& MetricCatalog::Builtin() {
  static const MetricCatalog* const kCatalog = [] {
    StatusOr<MetricCatalog> catalog = Parse("rules/metrics.yaml", kMetricsText);
    if (!catalog.ok()) {
      PrintError(Cat(ToStd(catalog.status().message()), "\n"));
      std::abort();
    }
    return new MetricCatalog(*std::move(catalog));
  }();
  return *kCatalog;
}

const MetricInfo* MetricCatalog::Find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &metrics_[found->second];
}

}  // namespace pitwall::check
