#include "rules/plan/baseline.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>

#include "services/base/text/strings.h"
#include "services/base/yaml/yaml.h"
#include "services/model/position.h"

namespace pitwall::plan {
namespace {

using yaml::Problem;
using yaml::StrictMap;

bool IsNameByte(char c, bool first) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' ||
         (!first && c >= '0' && c <= '9');
}

bool IsMetricName(std::string_view name) {
  for (size_t i = 0; i < name.size(); ++i) {
    if (!IsNameByte(name[i], i == 0)) return false;
  }
  return !name.empty();
}

// Parses "step:value step:value …" into *points. Returns the first error, or nullopt.
std::optional<std::string> ReadPoints(std::string_view text, uint32_t series,
                                      std::vector<Baseline::Point>* points) {
  int64_t before = kNoStep;
  while (!(text = Trim(text)).empty()) {
    const std::string_view word = text.substr(0, text.find_first_of(" \n\t"));
    text.remove_prefix(word.size());
    const size_t colon = word.find(':');
    const auto step = ParseInt(word.substr(0, colon));
    const auto value =
        colon == std::string_view::npos ? std::nullopt : ParseDouble(word.substr(colon + 1));
    if (!step || !value || *step < 0 || *step > kMaxStep)
      return Cat("\"points\": ", Quote(word), " is not step:value");
    if (*step <= before) return Cat("\"points\": step ", *step, " comes after step ", before);
    before = *step;
    points->push_back({*step, series, *value});
  }
  if (before == kNoStep) return "\"points\": value is missing";
  return std::nullopt;
}

class Reader {
 public:
  Reader(Baseline* out, std::vector<Problem>* problems) : out_(*out), problems_(problems) {}

  void Read(const yaml::Node& root) {
    StrictMap map(root, "a summary", problems_);
    out_.run = map.String("run").value_or("");
    if (out_.run.empty()) map.Add(map.KeyPosition("run"), "a summary needs \"run\": its name");
    map.String("job");  // only for human readers of the file
    out_.ended = map.Number("ended").value_or(0);
    if (!std::isfinite(out_.ended)) map.Add(map.KeyPosition("ended"), "\"ended\" must be a time");
    out_.match = JobMatch::Parse(&map, "a summary");
    if (const yaml::Node* series = map.Get("series")) {
      if (!series->IsSequence())
        map.Add(series->position(), Cat("\"series\": expected a list, found ", series->KindName()));
      for (const yaml::Node& node : series->items()) ReadSeries(node);
    } else {
      map.Add(map.KeyPosition("series"), "a summary needs \"series\"");
    }
    map.Finish();
    for (Baseline::Steps& steps : out_.steps) {
      std::sort(steps.points.begin(), steps.points.end(), [](const auto& a, const auto& b) {
        return std::tie(a.step, a.series) < std::tie(b.step, b.series);
      });
    }
  }

 private:
  void ReadSeries(const yaml::Node& node) {
    StrictMap map(node, "a series", problems_);
    const std::string name = map.String("name").value_or("");
    if (!IsMetricName(name)) {
      map.Add(map.KeyPosition("name"),
              name.empty() ? std::string("a series needs \"name\"")
                           : Cat("\"name\": ", Quote(name), " is not a metric name"));
    }
    std::vector<Label> pairs;
    for (const auto& [label, value] : map.Scalars("labels"))
      pairs.push_back({label, value->scalar()});
    const std::string mode = map.String("mode").value_or("");
    if (!mode.empty()) pairs.push_back({"mode", mode});
    pairs.push_back({std::string(kMetricName), Cat(kBaselinePrefix, name)});
    pairs.push_back({std::string(kRunLabel), out_.run});
    Labels labels = Labels::FromPairs(std::move(pairs));
    const auto points = map.String("points");
    const auto value = map.Number("value");
    map.Finish();
    if (points.has_value() == value.has_value()) {
      map.Add(node.position(), "a series needs either \"points\" or \"value\"");
      return;
    }
    if (points.has_value() != !mode.empty()) {
      map.Add(map.KeyPosition("mode"), "\"mode\" is for series with \"points\", which need it");
      return;
    }
    if (!known_.insert({mode, labels}).second) {
      map.Add(node.position(), Cat("series ", labels.ToString(), " appears twice"));
      return;
    }
    if (value.has_value()) {
      out_.values.emplace_back(std::move(labels), *value);
      return;
    }
    Baseline::Steps& steps = StepsOf(mode);
    const auto wrong =
        ReadPoints(*points, static_cast<uint32_t>(steps.series.size()), &steps.points);
    if (wrong.has_value()) map.Add(map.KeyPosition("points"), *wrong);
    steps.series.push_back(std::move(labels));
  }

  Baseline::Steps& StepsOf(const std::string& mode) {
    for (Baseline::Steps& steps : out_.steps) {
      if (steps.mode == mode) return steps;
    }
    out_.steps.emplace_back().mode = mode;
    return out_.steps.back();
  }

  Baseline& out_;
  std::vector<Problem>* const problems_;
  std::set<std::pair<std::string, Labels>> known_;
};

}  // namespace

const Baseline::Steps* Baseline::StepsOf(std::string_view mode) const {
  for (const Steps& of_mode : steps) {
    if (of_mode.mode == mode) return &of_mode;
  }
  return nullptr;
}

bool Baseline::Has(std::string_view metric) const {
  const auto is = [&](const Labels& labels) { return labels.Name() == metric; };
  return std::any_of(values.begin(), values.end(), [&](const auto& v) { return is(v.first); }) ||
         std::any_of(steps.begin(), steps.end(), [&](const Steps& of_mode) {
           return std::any_of(of_mode.series.begin(), of_mode.series.end(), is);
         });
}

BaselinePtr ParseBaseline(std::string_view file_name, std::string_view text,
                          lang::Diagnostics* diagnostics) {
  auto baseline = std::make_shared<Baseline>();
  const StatusOr<yaml::Node> root = yaml::ParseYaml(file_name, text);
  if (!root.ok()) {
    diagnostics->Error(file_name, ToStd(root.status().message()));
    return baseline;
  }
  std::vector<Problem> problems;
  Reader(baseline.get(), &problems).Read(*root);
  for (const Problem& problem : problems)
    diagnostics->Add(lang::Severity::kError, root->file(), problem.position, problem.what);
  return baseline;
}

std::vector<BaselinePtr> BaselinesFor(const Program& program, std::string_view job_id,
                                      std::string_view job_name, const Labels& job_labels) {
  std::vector<BaselinePtr> found;
  for (const BaselinePtr& baseline : program.baselines) {
    if (baseline->match.Matches(job_id, job_name, job_labels)) found.push_back(baseline);
  }
  std::sort(found.begin(), found.end(), [](const BaselinePtr& a, const BaselinePtr& b) {
    return a->ended != b->ended ? a->ended > b->ended : a->run > b->run;
  });
  if (found.size() > kMaxRunsPerJob) found.resize(kMaxRunsPerJob);
  return found;
}

}  // namespace pitwall::plan
