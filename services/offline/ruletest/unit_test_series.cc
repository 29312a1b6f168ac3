#include "services/offline/ruletest/unit_test_series.h"

#include "services/base/text/strings.h"
#include "services/base/yaml/builder.h"
#include "services/base/yaml/values.h"
#include "services/offline/promqltest/golden_points.h"
#include "services/offline/ruletest/unit_test_alert_cases.h"
#include "services/offline/ruletest/unit_test_values.h"
#include "services/offline/ruletest/unit_test_variables.h"

namespace pitwall::offline {

using yaml::Node;

Node InputSeriesList::WithoutGroups(const Node& entry) {
  const Node* values = entry.Find("values");
  if (values == nullptr || values->scalar().find('(') == std::string::npos) return entry;
  auto repeated = RepeatValueGroups(values->scalar());
  if (!repeated.ok()) {
    problems_->push_back({values->position(), std::string(ToStd(repeated.status().message()))});
    return WithoutKeys(entry, {"values"});
  }
  std::vector<Node::Entry> entries = entry.entries();
  SetKey(&entries, {"values", KeyPositionOf(entry, "values"),
                    yaml::Builder::Scalar(*values, *std::move(repeated))});
  return yaml::Builder::Map(entry, std::move(entries));
}

void InputSeriesList::Add(const Node& written, bool made) {
  const Node entry = WithoutGroups(written);
  const Node* replace = entry.Find("replace");
  const Node* series = entry.Find("series");
  if (replace != nullptr) {
    const auto value = yaml::ToBool(*replace);
    if (!value.ok() || !*value) {
      problems_->push_back({replace->position(), "replace must be true or absent"});
      return;
    }
  }
  const auto read = series != nullptr ? ParseGoldenSeries(Trim(series->scalar()))
                                      : StatusOr<GoldenSeries>(InvalidArgument(""));
  if (!read.ok()) {  // the reader of the file reports it
    entries_.push_back(WithoutKeys(entry, {"replace"}));
    return;
  }
  const auto found = slots_.find(read->labels);
  const std::string name = read->labels.ToString();
  if (replace != nullptr) {
    if (found == slots_.end()) {
      problems_->push_back({entry.position(), Cat("no series to replace (", name, ")")});
    } else {
      entries_[found->second.index] = WithoutKeys(entry, {"replace"});
    }
    return;
  }
  if (found != slots_.end() && (made || found->second.made)) {
    const Node* values = entry.Find("values");
    const Node* known = entries_[found->second.index].Find("values");
    if (values != nullptr && known != nullptr && values->scalar() == known->scalar()) return;
    problems_->push_back({entry.position(), Cat("series is already defined with other values (",
                                                name, "); write replace: true to replace it")});
    return;
  }
  slots_[read->labels] = {entries_.size(), made};
  entries_.push_back(entry);
}

}  // namespace pitwall::offline
