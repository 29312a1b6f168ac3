#include "services/offline/ruletest/unit_test_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "absl/time/time.h"
#include "services/base/duration.h"
#include "services/base/text/strings.h"
#include "services/base/yaml/values.h"
#include "services/model/position.h"
#include "services/model/value.h"
#include "services/offline/promqltest/golden_points.h"
#include "services/offline/ruletest/unit_test_expand.h"

namespace pitwall::offline {

namespace {

using yaml::Node;
using yaml::Problem;
using yaml::StrictMap;

constexpr int64_t kDefaultInterval = 60 * kStepUnit;

void ReadList(StrictMap& map, std::string_view key, std::string_view what,
              std::vector<Problem>* problems, auto read) {
  const Node* list = map.Get(key);
  if (list == nullptr) return;
  if (!list->IsSequence()) {
    map.Add(list->position(), Cat(key, " must be a list, not ", list->KindName()));
    return;
  }
  for (const Node& item : list->items()) {
    StrictMap entry(item, what, problems);
    read(entry, item);
    entry.Finish();
  }
}

std::vector<std::pair<std::string, std::string>> ReadTexts(StrictMap& map, std::string_view key) {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const auto& [name, value] : map.Scalars(key)) texts.emplace_back(name, value->scalar());
  std::sort(texts.begin(), texts.end());
  return texts;
}

std::optional<int64_t> ReadStep(StrictMap& map, std::string_view key, const Node& node) {
  const auto number = yaml::ToInt(node);
  if (!number.ok() || *number < 0 || *number > kMaxStep) {
    map.Add(node.position(),
            Cat(key, " on the step clock must be a step, not ",
                node.IsScalar() ? Quote(node.scalar()) : std::string(node.KindName())));
    return std::nullopt;
  }
  return StepPosition(*number);
}

// Reads a time on the test's clock: a duration or a step.
int64_t ReadTime(StrictMap& map, std::string_view key, bool step) {
  if (!step) return map.Duration(key).value_or(0);
  const Node* node = map.Get(key);
  return node == nullptr ? 0 : ReadStep(map, key, *node).value_or(0);
}

std::vector<int64_t> ReadAttempts(StrictMap& map, bool step) {
  constexpr std::string_view kKey = "attempts";
  std::vector<int64_t> attempts;
  const Node* list = map.Get(kKey);
  if (list == nullptr) return attempts;
  if (!list->IsSequence()) {
    map.Add(list->position(), Cat(kKey, " must be a list, not ", list->KindName()));
    return attempts;
  }
  for (const Node& node : list->items()) {
    std::optional<int64_t> at;
    if (step) {
      at = ReadStep(map, kKey, node);
    } else if (const auto duration = yaml::ToDuration(node); duration.ok()) {
      at = *duration;
    } else {
      map.Add(node.position(), Cat(kKey, ": ", ToStd(duration.status().message())));
    }
    if (!at.has_value()) continue;
    if (*at <= (attempts.empty() ? 0 : attempts.back())) {
      map.Add(node.position(), Cat(kKey, attempts.empty() ? " must be after the start of the test"
                                                          : " must be in ascending order"));
      continue;
    }
    attempts.push_back(*at);
  }
  return attempts;
}

// Reads the start time, as seconds since the epoch or in RFC 3339 format.
int64_t ReadStart(StrictMap& map) {
  const auto text = map.String("start_timestamp");
  if (!text.has_value()) return 0;
  if (const auto seconds = ParseDouble(*text); seconds.has_value()) {
    double whole = 0;
    const double part = std::modf(*seconds, &whole);
    if (std::abs(whole) < static_cast<double>(kMaxPosition / kStepUnit))
      return static_cast<int64_t>(whole) * kStepUnit + static_cast<int64_t>(part * kStepUnit);
  }
  absl::Time time;
  if (absl::ParseTime(absl::RFC3339_full, *text, &time, nullptr) &&
      std::abs(absl::ToUnixSeconds(time)) < kMaxPosition / kStepUnit)
    return absl::ToUnixNanos(time);
  map.Add(map.KeyPosition("start_timestamp"), Cat(Quote(*text), " is not a supported time"));
  return 0;
}

void AddSeries(GoldenSeries read, UnitTest* test) {
  InputSeries series{std::move(read.labels), {}};
  for (const GoldenPoint& point : read.points)
    series.values.push_back(point.present() ? std::optional(point.value) : std::nullopt);
  // If a series is defined several times, the last definition is used.
  const auto same = std::find_if(test->series.begin(), test->series.end(),
                                 [&](const auto& other) { return other.labels == series.labels; });
  (same == test->series.end() ? test->series.emplace_back() : *same) = std::move(series);
}

// Promtool joins a series and its values into lines of text and stops at an empty line. A line
// break within the values therefore starts another series. Returns false at the end of the text.
bool ReadSeries(StrictMap& entry, UnitTest* test) {
  const std::string series = entry.String("series").value_or("");
  const std::string values = entry.String("values").value_or("");
  const std::string text = Cat(series, " ", values);
  for (std::string_view line : Split(text, '\n')) {
    line = Trim(line);
    if (line.empty() || line.front() == '#') return false;
    if (IsStartTimestampLine(line)) continue;
    auto read = ParseGoldenSeries(line);
    if (!read.ok()) {
      entry.Add(entry.KeyPosition("series"), ToStd(read.status().message()));
    } else if (read->HasHistogram()) {
      entry.Add(entry.KeyPosition("values"), "native histograms are not supported");
    } else {
      AddSeries(*std::move(read), test);
    }
  }
  return true;
}

void ReadAlertCase(StrictMap& entry, const Node& node, UnitTest* test,
                   std::vector<Problem>* problems) {
  AlertCase alert;
  alert.position = node.position();
  alert.eval_time = ReadTime(entry, "eval_time", test->step);
  alert.alert = entry.String("alertname").value_or("");
  if (alert.alert.empty()) entry.Add(node.position(), "alert_rule_test requires an alertname");
  ReadList(entry, "exp_alerts", "an expected alert", problems,
           [&](StrictMap& expected, const Node&) {
             ExpectedAlert out;
             for (auto& [name, value] : ReadTexts(expected, "exp_labels")) {
               if (name != "alertname") out.labels.push_back({std::move(name), std::move(value)});
             }
             out.labels.push_back({"alertname", alert.alert});
             std::sort(out.labels.begin(), out.labels.end());
             if (expected.Get("exp_annotations") != nullptr)
               out.annotations = ReadTexts(expected, "exp_annotations");
             alert.expected.push_back(std::move(out));
           });
  test->alerts.push_back(std::move(alert));
}

void ReadStatusCase(StrictMap& entry, const Node& node, UnitTest* test) {
  StatusCase status;
  status.position = node.position();
  status.eval_time = ReadTime(entry, "eval_time", test->step);
  status.alert = entry.String("alertname").value_or("");
  if (status.alert.empty()) entry.Add(node.position(), "status_test requires an alertname");
  status.labels = ReadTexts(entry, "labels");
  const auto name = entry.String("status");
  const auto read = name.has_value() ? ParseRuleStatus(*name) : std::nullopt;
  if (!read.has_value() || *read == RuleStatus::kUnknown || *read == RuleStatus::kStopped) {
    entry.Add(entry.KeyPosition("status"),
              Cat("status must be NoData, InProgress, NoIssuesFound, IssuesFound, or Error",
                  name.has_value() ? Cat(", not ", Quote(*name)) : std::string()));
  } else {
    status.status = *read;
  }
  status.reason = entry.String("reason");
  test->statuses.push_back(std::move(status));
}

// Parses a number in the syntax that go-yaml accepts for a float64, including 0x10, 010, 0b11, and
// 1_000. Other strings, including NaN, are malformed.
double ReadValue(StrictMap& map, std::string_view key) {
  const Node* node = map.Get(key);
  if (node == nullptr) return 0;
  std::string text = node->scalar();
  text.erase(std::remove(text.begin(), text.end(), '_'), text.end());
  const bool negative = StartsWith(text, "-");
  std::string_view body = text;
  if (negative || StartsWith(text, "+")) body.remove_prefix(1);
  std::optional<double> value;
  if (body == ".inf" || body == ".Inf" || body == ".INF") {
    value = std::numeric_limits<double>::infinity();
  } else if (text == ".nan" || text == ".NaN" || text == ".NAN") {
    return NormalNan();
  } else if (!body.empty() && body.find_first_not_of("0123456789.eE+-") == std::string_view::npos &&
             (body.front() != '0' || body.find_first_of(".eE89") != std::string_view::npos)) {
    value = ParseDouble(body);
  } else if (body.size() > 1 && body.front() == '0') {
    const bool prefixed = body.find_first_of("xXoObB") == 1;
    const int base = !prefixed                          ? 8
                     : body[1] == 'x' || body[1] == 'X' ? 16
                     : body[1] == 'b' || body[1] == 'B' ? 2
                                                        : 8;
    uint64_t whole = 0;
    const char* end = body.data() + body.size();
    const auto read = std::from_chars(body.data() + (prefixed ? 2 : 1), end, whole, base);
    if (read.ec == std::errc() && read.ptr == end) value = static_cast<double>(whole);
  } else if (body == "0") {
    value = 0;
  }
  if (!node->IsScalar() || node->quoted() || !value.has_value()) {
    map.Add(node->position(),
            Cat(key, " must be a number, not ",
                node->IsScalar() ? Quote(node->scalar()) : std::string(node->KindName())));
    return 0;
  }
  return negative ? -*value : *value;
}

void ReadExprCase(StrictMap& entry, const Node& node, UnitTest* test,
                  std::vector<Problem>* problems) {
  ExprCase expr;
  expr.position = node.position();
  expr.expr = entry.String("expr").value_or("");
  expr.eval_time = ReadTime(entry, "eval_time", test->step);
  ReadList(
      entry, "exp_samples", "an expected sample", problems, [&](StrictMap& expected, const Node&) {
        const auto labels = ParseGoldenSeries(Trim(expected.String("labels").value_or("")));
        if (!labels.ok()) {
          expected.Add(expected.KeyPosition("labels"), ToStd(labels.status().message()));
        } else if (!labels->points.empty()) {
          expected.Add(expected.KeyPosition("labels"), "the value must be in \"value\"");
        }
        if (!expected.String("histogram").value_or("").empty()) {
          expected.Add(expected.KeyPosition("histogram"), "native histograms are not supported");
        }
        const double value = ReadValue(expected, "value");
        if (labels.ok()) expr.expected.push_back({labels->labels, value});
      });
  test->exprs.push_back(std::move(expr));
}

UnitTest ReadTest(StrictMap& map, const Node& node, int64_t evaluation_interval,
                  std::vector<Problem>* problems) {
  UnitTest test;
  test.position = node.position();
  test.name = map.String("name").value_or("");
  if (test.name.empty()) test.name = Cat("test at line ", node.position().line);
  const std::string clock = map.String("clock").value_or("time");
  if (clock != "time" && clock != "step")
    map.Add(map.KeyPosition("clock"), "clock must be time or step");
  test.step = clock == "step";
  test.mode = map.String("mode").value_or(test.step ? "train" : "");
  if (test.step && map.Get("interval") != nullptr)
    map.Add(map.KeyPosition("interval"),
            "interval must be omitted because values are at each step");
  test.interval = test.step ? kStepUnit : map.Duration("interval").value_or(0);
  if (test.interval == 0) test.interval = evaluation_interval;
  test.start = ReadStart(map);
  test.attempts = ReadAttempts(map, test.step);
  bool more = true;
  ReadList(map, "input_series", "an input series", problems, [&](StrictMap& entry, const Node&) {
    if (more) {
      more = ReadSeries(entry, &test);
    } else {
      entry.String("series");
      entry.String("values");
    }
  });
  ReadList(map, "alert_rule_test", "an alert test", problems,
           [&](StrictMap& entry, const Node& at) { ReadAlertCase(entry, at, &test, problems); });
  ReadList(map, "status_test", "a status test", problems,
           [&](StrictMap& entry, const Node& at) { ReadStatusCase(entry, at, &test); });
  ReadList(map, "promql_expr_test", "an expression test", problems,
           [&](StrictMap& entry, const Node& at) { ReadExprCase(entry, at, &test, problems); });
  if (test.step) {
    for (const std::string_view key : {"promql_expr_test", "start_timestamp"}) {
      if (map.Get(key) != nullptr)
        map.Add(map.KeyPosition(key), Cat(key, " requires the time clock"));
    }
  }
  test.external_labels = ReadTexts(map, "external_labels");
  test.external_url = map.String("external_url").value_or("");
  return test;
}

}  // namespace

StatusOr<UnitTestFile> ParseUnitTestFile(std::string_view name, std::string_view text) {
  ASSIGN_OR_RETURN(const Node read, yaml::ParseYaml(name, text));
  UnitTestFile file;
  file.name = std::string(name);
  std::vector<Problem> problems;
  const Node root = ExpandUnitTests(read, &problems);
  StrictMap top(root, "a unit-test file", &problems);
  file.rule_files = top.Strings("rule_files").value_or(std::vector<std::string>());
  file.evaluation_interval = top.Duration("evaluation_interval").value_or(0);
  if (file.evaluation_interval == 0) file.evaluation_interval = kDefaultInterval;
  file.own_intervals = top.Bool("own_intervals").value_or(false);
  file.group_eval_order = top.Strings("group_eval_order").value_or(std::vector<std::string>());
  std::set<std::string_view> ordered;
  for (const std::string& group : file.group_eval_order) {
    if (!ordered.insert(group).second) {
      top.Add(top.KeyPosition("group_eval_order"),
              Cat("group ", Quote(group), " is repeated in group_eval_order"));
    }
  }
  file.fuzzy_compare = top.Bool("fuzzy_compare").value_or(false);
  ReadList(top, "tests", "a test", &problems, [&](StrictMap& map, const Node& node) {
    file.tests.push_back(ReadTest(map, node, file.evaluation_interval, &problems));
  });
  top.Finish();
  RETURN_IF_ERROR(yaml::ToStatus(root, problems));
  return file;
}

}  // namespace pitwall::offline
