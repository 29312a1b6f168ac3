#include "services/offline/backtest/summary.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "services/base/clock.h"
#include "services/base/text/strings.h"
#include "services/base/yaml/yaml.h"

namespace pitwall::offline {
namespace {

// Label that the Python client uses to identify a job's configuration.
constexpr std::string_view kConfigLabel = "config_hash";

std::string Number(double value) {
  if (value != value) return "NaN";
  return absl::StrFormat("%.9g", value);
}

// Returns the labels as `{a: "b", …}`, without the metric name. Also omits the mode if it is a
// separate field.
std::string LabelsText(const Labels& labels, std::string_view mode) {
  std::string out;
  for (const Label& label : labels) {
    if (label.name == kMetricName || (label.name == "mode" && label.value == mode)) continue;
    CatTo(out, out.empty() ? "" : ", ", Quote(label.name), ": ", Quote(label.value));
  }
  return Cat("{", out, "}");
}

std::string_view NameOf(const Labels& labels) {
  return labels.Name().substr(kSummaryPrefix.size());
}

}  // namespace

void Summary::Recorded(const engine::JobIdentity& job, const ClockSpec& clock, const EvalTime& at,
                       const Labels& labels, double value) {
  if (!StartsWith(labels.Name(), kSummaryPrefix) || NameOf(labels).empty()) return;
  if (!job_.empty() && job.id != job_) return;
  if (!id_.empty() && job.id != id_) {
    other_ = job.id;
    return;
  }
  id_ = job.id;
  if (!job.name.empty()) name_ = job.name;
  if (!job.labels.empty()) labels_ = job.labels;
  ended_ = std::max(ended_, at.time.ns());
  if (!clock.step || StartsWith(labels.Name(), kSummaryOfRun)) {
    values_[labels] = value;
    return;
  }
  if (points_ > kMaxSummaryPoints) return;
  points_ += steps_[{clock.mode, labels}].insert_or_assign(at.step.value(), value).second;
}

std::string Summary::Body(size_t most) const {
  std::string out;
  for (const auto& [labels, value] : values_) {
    if (!std::isfinite(value)) continue;  // a non-finite value cannot be compared
    CatTo(out, "- {name: ", Quote(NameOf(labels)), ", labels: ", LabelsText(labels, ""),
          ", value: ", Number(value), "}\n");
  }
  for (const auto& [key, points] : steps_) {
    const auto& [mode, labels] = key;
    size_t stride = 1;
    while ((points.size() + stride - 1) / stride > most) stride *= 2;
    CatTo(out, "- {name: ", Quote(NameOf(labels)), ", mode: ", Quote(mode),
          ", labels: ", LabelsText(labels, mode), ", points: \"");
    size_t i = 0;
    for (const auto& [step, value] : points) {
      if (i % stride == 0) CatTo(out, i == 0 ? "" : " ", step, ":", Number(value));
      ++i;
    }
    CatTo(out, "\"}\n");
  }
  return out;
}

StatusOr<std::string> Summary::Text(const SummaryOptions& options) const {
  if (!other_.empty()) {
    return InvalidArgument(Cat("found several jobs, including ", Quote(id_), " and ", Quote(other_),
                               "; select one with --job"));
  }
  if (id_.empty()) {
    return NotFound(Cat(job_.empty() ? std::string("no job recorded any")
                                     : Cat("job ", Quote(job_), " recorded no"),
                        " series named ", kSummaryPrefix, "*"));
  }
  if (points_ > kMaxSummaryPoints)
    return ResourceExhausted(
        Cat("job ", Quote(id_), " recorded more than ", kMaxSummaryPoints, " points"));
  std::string head =
      Cat("# What `pitwall baseline` kept of a finished job.\nrun: ",
          Quote(options.run.empty() ? id_ : options.run), "\njob: ", Quote(id_),
          "\nended: ", absl::StrFormat("%.3f", static_cast<double>(ended_) / 1e9), "\nmatch: {");
  auto match = options.match;
  if (match.empty()) {
    match.emplace_back("job", name_.empty() ? id_ : name_);
    for (const Label& label : labels_) {
      if (label.name == kConfigLabel) match.emplace_back(label.name, label.value);
    }
  }
  for (size_t i = 0; i < match.size(); ++i)
    CatTo(head, i == 0 ? "" : ", ", Quote(match[i].first), ": ", Quote(match[i].second));
  head += "}\nseries:\n";
  size_t longest = 1;
  for (const auto& [key, points] : steps_) longest = std::max(longest, points.size());
  const size_t limit = std::min(options.max_bytes, yaml::kMaxFileBytes);
  for (size_t most = longest;; most = (most + 1) / 2) {
    std::string text = Cat(head, Body(most));
    if (text.size() <= limit) return text;
    if (most == 1) {
      return ResourceExhausted(Cat("job ", Quote(id_), ": ", steps_.size() + values_.size(),
                                   " series take ", text.size(),
                                   " bytes with one point each; the limit is ", limit));
    }
  }
}

}  // namespace pitwall::offline
