// Unit-test file, parsed strictly: Prometheus' format (promtool 3.14), with the extensions `clock`,
// `mode`, `attempts`, and `status_test` of a test and `own_intervals` of the file
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
  // As written, with alertname, by name: a label with an empty value matches no alert, as in
  // promtool.
  std::vector<Label> labels;
  std::optional<Annotations> annotations;  // by name; nullopt if the key is missing
};

struct AlertCase {
  int64_t eval_time = 0;  // position units after the start of the test
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
  // Selects among rules of one alertname by the labels in the rules.
  std::vector<std::pair<std::string, std::string>> labels;
  RuleStatus status = RuleStatus::kUnknown;
  std::optional<std::string> reason;  // text that the status' reason must contain
  yaml::Position position;
};

struct InputSeries {
  Labels labels;
  std::vector<std::optional<double>> values;  // one per interval; nullopt for a missing sample
};

struct UnitTest {
  std::string name;
  yaml::Position position;
  bool step = false;
  std::string mode;
  int64_t start = 0;                // position of the first values
  int64_t interval = 0;             // between values, position units
  std::vector<InputSeries> series;  // distinct labels
  // Position units after the start, ascending: beginnings of further attempts of the job.
  std::vector<int64_t> attempts;
  std::vector<AlertCase> alerts;
  std::vector<StatusCase> statuses;
  std::vector<ExprCase> exprs;
  std::vector<std::pair<std::string, std::string>> external_labels;
  std::string external_url;
};

struct UnitTestFile {
  std::string name;
  std::vector<std::string> rule_files;  // patterns as written: relative to the file
  int64_t evaluation_interval = 0;
  bool own_intervals = false;  // groups with an interval keep it; promtool overrides it
  std::vector<std::string> group_eval_order;
  bool fuzzy_compare = false;  // values may differ in their last bit
  std::vector<UnitTest> tests;
};

// InvalidArgument, with FILE:LINE:COL of all errors, including native histograms.
StatusOr<UnitTestFile> ParseUnitTestFile(std::string_view name, std::string_view text);

}  // namespace pitwall::offline
