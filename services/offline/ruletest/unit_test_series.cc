#include "services/offline/ruletest/unit_test_series.h"

#include "services/base/text/strings.h"
#include "services/base/yaml/values.h"
#include "services/offline/promqltest/golden_points.h"
#include "services/offline/ruletest/unit_test_variables.h"

namespace pitwall::offline {

using yaml::Node;

void InputSeriesList::Add(const Node& entry, bool made) {
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
