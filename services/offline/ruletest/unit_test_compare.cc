#include "services/offline/ruletest/unit_test_compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "services/base/text/strings.h"

namespace pitwall::offline {

namespace {

std::string Lines(std::vector<std::string> lines) {
  if (lines.empty()) return "    nothing\n";
  std::sort(lines.begin(), lines.end());
  return Cat("    ", Join(lines, "\n    "), "\n");
}

std::string Difference(const std::vector<std::string>& expected,
                       const std::vector<std::string>& got) {
  return Cat("  expected:\n", Lines(expected), "  got:\n", Lines(got));
}

struct Shown {
  std::vector<Label> labels;
  const Annotations* annotations;  // null if annotations are not compared
};

std::string Line(const Shown& alert) {
  std::string line = "{";
  for (const Label& label : alert.labels)
    CatTo(line, line.size() == 1 ? "" : ",", label.name, "=", Quote(label.value));
  line += "}";
  if (alert.annotations == nullptr) return line;
  for (const auto& [name, text] : *alert.annotations) CatTo(line, " ", name, "=", Quote(text));
  return line;
}

bool Equal(const Shown& a, const Shown& b) {
  return a.labels == b.labels &&
         (a.annotations == nullptr || b.annotations == nullptr || *a.annotations == *b.annotations);
}

// Returns true if both lists contain the same alerts in any order. Alerts usually have distinct
// labels, so each alert is paired with its first match.
bool SameAlerts(const std::vector<Shown>& a, std::vector<Shown> b) {
  if (a.size() != b.size()) return false;
  for (const Shown& one : a) {
    const auto other =
        std::find_if(b.begin(), b.end(), [&](const Shown& alert) { return Equal(one, alert); });
    if (other == b.end()) return false;
    b.erase(other);
  }
  return true;
}

bool EqualValues(double a, double b, bool fuzzy) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return a == b ||
         (fuzzy && (std::nextafter(a, -kInfinity) == b || std::nextafter(a, kInfinity) == b));
}

std::string Line(const Labels& labels, double value) {
  return Cat(labels.ToString(), " ", FormatDouble(value));
}

}  // namespace

std::string CompareAlerts(const AlertCase& expected, const std::vector<FiringAlert>& firing,
                          bool strict) {
  static const Annotations kNone;
  std::vector<Shown> want, got;
  bool shown = strict;
  for (const ExpectedAlert& alert : expected.expected) {
    shown = shown || alert.annotations.has_value();
    want.push_back({alert.labels, alert.annotations.has_value() ? &*alert.annotations
                                  : strict                      ? &kNone
                                                                : nullptr});
  }
  for (const FiringAlert& alert : firing)
    got.push_back({{alert.labels.begin(), alert.labels.end()}, &alert.annotations});
  if (SameAlerts(want, got)) return {};
  std::vector<std::string> want_lines, got_lines;
  for (const Shown& alert : want) want_lines.push_back(Line(alert));
  for (Shown& alert : got) {
    if (!shown) alert.annotations = nullptr;
    got_lines.push_back(Line(alert));
  }
  return Difference(want_lines, got_lines);
}

std::string CompareStatus(const StatusCase& expected,
                          const std::vector<engine::RuleStatusNow>& statuses) {
  const auto writes = [](const plan::Rule& rule, const auto& label) {
    return std::any_of(rule.labels.begin(), rule.labels.end(), [&](const plan::Template& written) {
      return written.name == label.first && written.text == label.second;
    });
  };
  std::vector<const engine::RuleStatusNow*> found;
  for (const engine::RuleStatusNow& status : statuses) {
    const plan::Rule& rule = *status.rule;
    if (rule.alert == expected.alert &&
        std::all_of(expected.labels.begin(), expected.labels.end(),
                    [&](const auto& label) { return writes(rule, label); }))
      found.push_back(&status);
  }
  if (found.empty()) return "  no alerting rule on this clock has this alertname and labels\n";
  if (found.size() > 1) {
    std::vector<std::string> lines;
    for (const engine::RuleStatusNow* status : found)
      lines.push_back(Cat(status->rule->file, ":", status->rule->line));
    return Cat("  several rules match; select one of them with labels:\n", Lines(std::move(lines)));
  }
  const engine::RuleStatusNow& got = *found[0];
  if (got.status == expected.status &&
      (!expected.reason.has_value() || got.reason.find(*expected.reason) != std::string::npos))
    return {};
  const auto line = [](RuleStatus status, std::string_view joint, std::string_view reason) {
    return std::vector<std::string>{
        Cat(RuleStatusName(status), reason.empty() ? "" : joint, reason)};
  };
  return Difference(
      line(expected.status, ", with a reason that contains: ", expected.reason.value_or("")),
      line(got.status, ": ", got.reason));
}

std::string CompareSamples(const ExprCase& expected, std::vector<QueryElement> got, bool fuzzy) {
  std::vector<ExpectedSample> want = expected.expected;
  const auto by_labels = [](const auto& a, const auto& b) { return a.labels < b.labels; };
  std::stable_sort(want.begin(), want.end(), by_labels);
  std::stable_sort(got.begin(), got.end(), by_labels);
  const bool same =
      std::equal(want.begin(), want.end(), got.begin(), got.end(),
                 [&](const ExpectedSample& a, const QueryElement& b) {
                   return a.labels == b.labels && EqualValues(a.value, b.value, fuzzy);
                 });
  if (same) return {};
  std::vector<std::string> want_lines, got_lines;
  for (const ExpectedSample& sample : want) want_lines.push_back(Line(sample.labels, sample.value));
  for (const QueryElement& element : got) got_lines.push_back(Line(element.labels, element.value));
  return Difference(want_lines, got_lines);
}

}  // namespace pitwall::offline
