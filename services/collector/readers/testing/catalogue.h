// Access to rules/metrics.yaml, the catalog of series and their labels, for tests.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <string>

#include "services/base/text/strings.h"
#include "services/model/telemetry.h"

namespace pitwall::collector {

// Returns the catalog. Empty if the test is not run in the source directory.
class Catalogue {
 public:
  Catalogue() {
    std::ifstream file("rules/metrics.yaml");
    std::string line, name;
    while (std::getline(file, line)) {
      const std::string_view text = Trim(line);
      if (StartsWith(text, "- name: ")) name = std::string(text.substr(8));
      if (!StartsWith(text, "labels: [")) continue;
      for (std::string_view label : Split(text.substr(9, text.find(']') - 9), ',')) {
        if (!Trim(label).empty()) labels_[name].insert(std::string(Trim(label)));
      }
    }
    EXPECT_TRUE(labels_.empty() || labels_.size() > 20);
  }
  bool empty() const { return labels_.empty(); }

  // Checks that a series is in the catalog with the same labels, and that its name matches its
  // kind.
  void Check(const SeriesDescriptor& series) const {
    if (empty()) return;
    const std::string metric(series.labels.Name());
    std::set<std::string> labels;
    for (const Label& label : series.labels) {
      if (label.name != kMetricName) labels.insert(label.name);
    }
    ASSERT_TRUE(labels_.contains(metric)) << metric;
    EXPECT_EQ(labels, labels_.at(metric)) << metric;
    EXPECT_EQ(series.kind == SeriesKind::kCounter, EndsWith(metric, "_total")) << metric;
  }

 private:
  std::map<std::string, std::set<std::string>> labels_;
};

}  // namespace pitwall::collector
