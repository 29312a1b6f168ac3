// Report sections on training: loss and other scalars. For boosted trees and classifiers, also
// feature importance, confusion matrix, ROC curve, residuals, and depth.
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "services/base/text/strings.h"
#include "services/history/report/sections.h"
#include "services/history/report/text_form.h"
#include "services/history/views/chart.h"
#include "services/history/views/steps/selectors.h"

namespace pitwall::history {
namespace {

constexpr size_t kMaxClasses = 32;
constexpr size_t kMaxFeatures = 20;

// Adds a chart of a metric by step, with one line per series and mode.
Status AddCurve(const ReportContext& context, std::string_view metric, std::string caption,
                Unit unit, Section* section) {
  LineChart chart{Cat("curve-", metric), std::move(caption), Unit::kStep, unit, {}, {}, {}};
  size_t left_out = 0;
  for (const std::string_view mode : {"train", "eval"}) {
    ChartQuery query;
    query.job = context.request.job;
    query.selectors = {SelectorOfMetric(metric)};
    query.range = context.whole();
    query.width = kMaxPoints;
    query.by_step = true;
    query.mode = mode;
    query.limits = kReportLimits;
    ASSIGN_OR_RETURN(const Chart made, MakeChart(context.history(), query));
    for (const ChartColumn& column : made.columns) {
      if (chart.lines.size() == kMaxLines) {
        ++left_out;
        continue;
      }
      std::string name = LabelText(column.labels);
      Line line{Cat(mode, name.empty() ? "" : ", ", name), {}, {}};
      for (const ChartRow& row : column.rows) {
        line.x.push_back(row.at);
        line.y.push_back(row.last);
      }
      chart.lines.push_back(std::move(line));
    }
  }
  if (chart.lines.empty()) return OkStatus();
  if (left_out > 0) CatTo(chart.caption, "; ", left_out, " more lines not shown");
  section->blocks.push_back(std::move(chart));
  return OkStatus();
}

// Newest samples of a metric, either at the newest step of the metric's mode or per series.
struct Newest {
  Labels labels;
  double value = 0;
  int64_t step = kNoStep;
};
StatusOr<std::vector<Newest>> ReadNewest(const ReportContext& context, std::string_view metric,
                                         std::string_view mode) {
  SampleQuery query;
  static_cast<SeriesQuery&>(query) = context.Query({SelectorOfMetric(metric)});
  query.mode = mode;
  query.from_step = 0;
  ASSIGN_OR_RETURN(const std::vector<SampleColumn> columns, context.history().Samples(query));
  int64_t newest = kNoStep;
  for (const SampleColumn& column : columns) newest = std::max(newest, column.steps.back());
  std::vector<Newest> out;
  for (const SampleColumn& column : columns) {
    if (column.steps.back() == newest) out.push_back({column.labels, column.values.back(), newest});
  }
  return out;
}

struct Scores {
  double precision = 0, recall = 0, f1 = 0, support = 0;
};

// Returns the class names, in numeric order if they are numbers.
std::vector<std::string> ClassesOf(const std::map<std::pair<std::string, std::string>, double>& m) {
  std::set<std::pair<int64_t, std::string>> sorted;
  for (const auto& [key, count] : m) {
    for (const std::string& name : {key.first, key.second})
      sorted.emplace(ParseInt(name).value_or(INT64_MAX), name);
  }
  std::vector<std::string> out;
  for (const auto& [number, name] : sorted) out.push_back(name);
  return out;
}

Status AddConfusion(const ReportContext& context, std::string_view mode, Section* section) {
  ASSIGN_OR_RETURN(const std::vector<Newest> cells,
                   ReadNewest(context, "train_confusion_samples", mode));
  std::map<std::pair<std::string, std::string>, double> matrix;
  for (const Newest& cell : cells) {
    if (std::isfinite(cell.value))
      matrix[{std::string(cell.labels.Get("label")), std::string(cell.labels.Get("prediction"))}] +=
          cell.value;
  }
  if (matrix.empty()) return OkStatus();
  const std::vector<std::string> classes = ClassesOf(matrix);
  const auto at = [&](const std::string& label, const std::string& prediction) {
    const auto found = matrix.find({label, prediction});
    return found == matrix.end() ? 0 : found->second;
  };
  Table table{Cat("confusion-", mode),
              Cat("Confusion matrix at ", mode, " step ", cells[0].step,
                  " (rows: true classes, columns: predictions)"),
              {{"class", "Class", Unit::kName}},
              {},
              {},
              0};
  Table scores{Cat("scores-", mode),
               "Precision, recall, and F1 by class",
               {{"class", "Class", Unit::kName},
                {"precision", "Precision", Unit::kRatio},
                {"recall", "Recall", Unit::kRatio},
                {"f1", "F1", Unit::kRatio},
                {"support", "Samples", Unit::kNumber}},
               {},
               {},
               0};
  double right = 0, all = 0, row_f1 = 0, row_p = 0, row_r = 0, w_p = 0, w_r = 0, w_f1 = 0;
  BarChart labels{Cat("labels-", mode), "Samples by true class", Unit::kNumber, false, {}};
  for (size_t i = 0; i < classes.size(); ++i) {
    const std::string& name = classes[i];
    if (i < kMaxClasses) table.columns.push_back({Cat("as_", name), name, Unit::kNumber});
    Scores one;
    double predicted = 0;
    for (const std::string& other : classes) {
      one.support += at(name, other);
      predicted += at(other, name);
    }
    const double hits = at(name, name);
    one.precision = predicted > 0 ? hits / predicted : 0;
    one.recall = one.support > 0 ? hits / one.support : 0;
    if (one.precision + one.recall > 0)
      one.f1 = 2 * one.precision * one.recall / (one.precision + one.recall);
    right += hits;
    all += one.support;
    row_p += one.precision;
    row_r += one.recall;
    row_f1 += one.f1;
    w_p += one.precision * one.support;
    w_r += one.recall * one.support;
    w_f1 += one.f1 * one.support;
    scores.rows.push_back({name, one.precision, one.recall, one.f1, one.support});
    labels.bars.push_back({name, one.support});
  }
  for (size_t i = 0; i < std::min(classes.size(), kMaxClasses); ++i) {
    Row row = {classes[i]};
    for (size_t j = 0; j < std::min(classes.size(), kMaxClasses); ++j)
      row.push_back(at(classes[i], classes[j]));
    table.rows.push_back(std::move(row));
  }
  if (classes.size() > kMaxClasses) table.left_out = classes.size() - kMaxClasses;
  const auto n = static_cast<double>(classes.size());
  CutRows(&scores);
  if (all > 0) {
    scores.rows.push_back(
        {std::string("micro average"), right / all, right / all, right / all, all});
    scores.rows.push_back({std::string("macro average"), row_p / n, row_r / n, row_f1 / n, all});
    scores.rows.push_back({std::string("weighted average"), w_p / all, w_r / all, w_f1 / all, all});
  }
  if (labels.bars.size() > kMaxBoxes) labels.bars.resize(kMaxBoxes);
  section->blocks.push_back(std::move(labels));
  section->blocks.push_back(std::move(table));
  section->blocks.push_back(std::move(scores));
  return OkStatus();
}

// Adds the ROC curve for two classes and the area under the curve. Both come from sample counts,
// binned by the probability of class 1. The order within a bin is unknown, so the curve is a
// straight line within a bin.
Status AddRoc(const ReportContext& context, std::string_view mode, Section* section) {
  ASSIGN_OR_RETURN(const std::vector<Newest> counts,
                   ReadNewest(context, "train_score_samples", mode));
  std::map<int64_t, std::pair<double, double>, std::greater<>> bins;  // highest probability first
  double negatives = 0, positives = 0;
  for (const Newest& one : counts) {
    const std::optional<int64_t> bin = ParseInt(one.labels.Get("bin"));
    if (!bin || !std::isfinite(one.value)) continue;
    const bool positive = one.labels.Get("class") == "1";
    (positive ? bins[*bin].second : bins[*bin].first) += one.value;
    (positive ? positives : negatives) += one.value;
  }
  if (negatives <= 0 || positives <= 0) return OkStatus();
  Table table{Cat("roc-", mode),
              Cat("ROC curve at ", mode, " step ", counts[0].step, " by probability threshold"),
              {{"bin", "Probability bin", Unit::kCount},
               {"false_positive_rate", "False positive rate", Unit::kRatio},
               {"true_positive_rate", "True positive rate", Unit::kRatio}},
              {},
              {},
              0};
  double false_positives = 0, true_positives = 0, area = 0;
  for (const auto& [bin, count] : bins) {
    area += count.first / negatives * (2 * true_positives + count.second) / (2 * positives);
    false_positives += count.first;
    true_positives += count.second;
    if (count.first > 0 || count.second > 0)
      table.rows.push_back({bin, false_positives / negatives, true_positives / positives});
  }
  section->blocks.push_back(Facts{Cat("roc-area-", mode),
                                  Cat("Binary classification, ", mode),
                                  {{"area", "Area under the ROC curve", Unit::kNumber, area},
                                   {"samples", "Samples", Unit::kNumber, negatives + positives}}});
  CutRows(&table);
  section->blocks.push_back(std::move(table));
  return OkStatus();
}

// Adds the distribution of regression errors.
Status AddResiduals(const ReportContext& context, std::string_view mode, Section* section) {
  ASSIGN_OR_RETURN(const std::vector<Newest> counts,
                   ReadNewest(context, "train_residual_samples", mode));
  std::map<double, double> bins;  // sums over all ranks
  for (const Newest& one : counts) {
    const std::optional<double> from = ParseDouble(one.labels.Get("from"));
    if (from && std::isfinite(*from) && std::isfinite(one.value)) bins[*from] += one.value;
  }
  if (bins.empty()) return OkStatus();
  BarChart chart{Cat("residuals-", mode),
                 Cat("Residuals (label minus prediction) at ", mode, " step ", counts[0].step,
                     ": samples by lower bound; the outermost bars include all values beyond"),
                 Unit::kNumber,
                 false,
                 {}};
  for (const auto& [from, count] : bins) chart.bars.push_back({FormatDouble(from), count});
  section->blocks.push_back(std::move(chart));
  return OkStatus();
}

}  // namespace

Status AddTraining(const ReportContext& context, Document* out) {
  Section section{"training", "Training", false, {}};
  RETURN_IF_ERROR(AddCurve(context, "train_loss", "Loss", Unit::kNumber, &section));
  RETURN_IF_ERROR(AddCurve(context, "train_metric", "Metrics", Unit::kNumber, &section));
  RETURN_IF_ERROR(
      AddCurve(context, "train_learning_rate", "Learning rate", Unit::kNumber, &section));
  RETURN_IF_ERROR(AddCurve(context, "train_grad_norm", "Gradient norm", Unit::kNumber, &section));
  if (!section.blocks.empty()) out->sections.push_back(std::move(section));
  return OkStatus();
}

Status AddBoosting(const ReportContext& context, Document* out) {
  Section section{"boosting", "Boosted trees and classes", false, {}};
  ASSIGN_OR_RETURN(const std::vector<Newest> importance,
                   ReadNewest(context, "train_feature_importance_ratio", "train"));
  std::map<std::string, std::vector<Bar>> kinds;
  for (const Newest& one : importance) {
    if (std::isfinite(one.value))
      kinds[std::string(one.labels.Get("type"))].push_back(
          {std::string(one.labels.Get("feature")), one.value});
  }
  for (auto& [kind, bars] : kinds) {
    std::stable_sort(bars.begin(), bars.end(),
                     [](const Bar& a, const Bar& b) { return a.value > b.value; });
    BarChart chart{Cat("importance-", kind),
                   Cat("Feature importance by ", kind, " at round ", importance[0].step),
                   Unit::kRatio, false, std::move(bars)};
    if (chart.bars.size() > kMaxFeatures) {
      CatTo(chart.caption, ", first ", kMaxFeatures, " of ", chart.bars.size());
      chart.bars.resize(kMaxFeatures);
    }
    section.blocks.push_back(std::move(chart));
  }
  for (const std::string_view mode : {"train", "eval"}) {
    RETURN_IF_ERROR(AddConfusion(context, mode, &section));
    RETURN_IF_ERROR(AddRoc(context, mode, &section));
    RETURN_IF_ERROR(AddResiduals(context, mode, &section));
  }
  RETURN_IF_ERROR(
      AddCurve(context, "train_tree_depth", "Tree depth in edges", Unit::kNumber, &section));
  if (!section.blocks.empty()) out->sections.push_back(std::move(section));
  return OkStatus();
}

}  // namespace pitwall::history
