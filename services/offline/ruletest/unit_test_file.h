// Strictly parsed unit-test file in Prometheus's format (promtool 3.14), with the extensions
// `clock`, `mode`, `attempts`, and `status_test` for a test, and `own_intervals` for the file
// (docs/rule-tests.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/base/status.h"
#include "services/base/yaml/yaml.h"
#include "services/model/issues/issue.h"
#include "services/model/labels.h"

namespace pitwall::offline {

using Annotations = std::vector<std::pair<std::string, std::string>>;

struct ExpectedAlert {
  // Labels as written, plus alertname, sorted by name. As in promtool, a label with an empty value
  // does not match any alert.
  std::vector<Label> labels;
  std::optional<Annotations> annotations;  // sorted by name; nullopt if the key is missing
};

struct AlertCase {
  int64_t eval_time = 0;  // position units since the start of the test
  std::string alert;
  std::vector<ExpectedAlert> expected;
  yaml::Position position;
};

struct ExpectedSample {
  Labels labels;
  double value = 0;
};

struct ExprCase {
  std::string expr;
  int64_t eval_time = 0;
  std::vector<ExpectedSample> expected;
  yaml::Position position;
};

struct StatusCase {
  int64_t eval_time = 0;
  std::string alert;
  // Labels that select one of several rules with the same alertname, by the labels in the rules.
  std::vector<std::pair<std::string, std::string>> labels;
  RuleStatus status = RuleStatus::kUnknown;
  std::optional<std::string> reason;  // text that the status reason must contain
  yaml::Position position;
};

struct InputSeries {
  Labels labels;
  // One element per interval; nullopt if the sample is missing.
  std::vector<std::optional<double>> values;
};

struct UnitTest {
  std::string name;
  yaml::Position position;
  bool step = false;
  std::string mode;
  int64_t start = 0;                // position of the first value of each series
  int64_t interval = 0;             // distance between values in position units
  std::vector<InputSeries> series;  // with distinct labels
  // Starts of further attempts of the job, in position units since the start of the test, in
  // ascending order.
  std::vector<int64_t> attempts;
  std::vector<AlertCase> alerts;
  std::vector<StatusCase> statuses;
  std::vector<ExprCase> exprs;
  std::vector<std::pair<std::string, std::string>> external_labels;
  std::string external_url;
};

struct UnitTestFile {
  std::string name;
  std::vector<std::string> rule_files;  // patterns as written, relative to the file
  int64_t evaluation_interval = 0;
  bool own_intervals = false;  // groups keep their own intervals, which promtool would override
  std::vector<std::string> group_eval_order;
  bool fuzzy_compare = false;  // values may differ in the last bit
  std::vector<UnitTest> tests;
};

// Parses a file. Returns InvalidArgument with FILE:LINE:COL for each error. Native histograms are
// an error.
StatusOr<UnitTestFile> ParseUnitTestFile(std::string_view name, std::string_view text);

}  // namespace pitwall::offline
