// Strict parser for unit-test files in Prometheus's format (promtool 3.14). Adds `clock`, `mode`,
// `attempts`, and `status_test` for tests, and `own_intervals` for files (docs/rule-tests.md).
// Fixtures, repetitions, and defaults are expanded first (unit_test_expand.h).
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
  int64_t eval_time = 0;  // since the start of the test, in position units
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
  // Labels that select one of several rules with the same alertname. They are compared against the
  // labels in the rule definitions.
  std::vector<std::pair<std::string, std::string>> labels;
  RuleStatus status = RuleStatus::kUnknown;
  std::optional<std::string> reason;  // text that the status reason must contain
  yaml::Position position;
};

struct InputSeries {
  Labels labels;
  // One element per interval. A missing sample is nullopt.
  std::vector<std::optional<double>> values;
};

struct UnitTest {
  std::string name;
  yaml::Position position;
  bool step = false;
  std::string mode;
  int64_t start = 0;                // position of the first value of each series
  int64_t interval = 0;             // distance between values, in position units
  std::vector<InputSeries> series;  // series have distinct labels
  // Start times of the job's additional attempts, in position units since the start of the test. In
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
  std::vector<std::string> rule_files;  // patterns as written; relative to the file
  int64_t evaluation_interval = 0;
  bool own_intervals = false;  // groups keep their own intervals, which promtool would override
  std::vector<std::string> group_eval_order;
  bool fuzzy_compare = false;  // if true, values may differ in the last bit
  std::vector<UnitTest> tests;
};

// Parses a file. Returns InvalidArgument with FILE:LINE:COL for each problem. Native histograms are
// an error.
StatusOr<UnitTestFile> ParseUnitTestFile(std::string_view name, std::string_view text);

}  // namespace pitwall::offline
