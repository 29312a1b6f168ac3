#include "services/offline/promqltest/golden_samples.h"

#include <bit>
#include <cmath>
#include <utility>

#include "rules/lang/parser.h"
#include "rules/plan/planner/selector_of.h"
#include "services/base/text/strings.h"

namespace pitwall::offline {

namespace {

constexpr std::string_view kBucketLabel = "le";

// Returns the labels of the native histogram that load_with_nhcb creates from a classic histogram
// series, or nullopt for any other series.
std::optional<Labels> NativeLabels(const Labels& labels) {
  const std::string_view name = labels.Name();
  for (const std::string_view suffix : {"_bucket", "_count", "_sum"}) {
    if (!EndsWith(name, suffix)) continue;
    if (suffix == "_bucket") {
      const auto bound = ParseDouble(labels.Get(kBucketLabel));
      if (!bound.has_value() || std::isnan(*bound)) return std::nullopt;
    }
    return labels.With(kBucketLabel, "")
        .With(kMetricName, name.substr(0, name.size() - suffix.size()));
  }
  return std::nullopt;
}

Status AppendSamples(const GoldenSeries& loaded, int64_t step, QuerySeries* series) {
  for (size_t i = 0; i < loaded.points.size(); ++i) {
    const GoldenPoint& point = loaded.points[i];
    if (point.kind != GoldenPoint::Kind::kValue) continue;
    const int64_t position = static_cast<int64_t>(i) * step;
    if (!series->samples.empty() && position <= series->samples.back().first) {
      const auto& [last, value] = series->samples.back();
      if (position == last &&
          std::bit_cast<uint64_t>(value) == std::bit_cast<uint64_t>(point.value))
        continue;
      return InvalidArgument(
          Cat(loaded.line, ": ", loaded.labels.ToString(), " already has a sample at ",
              FormatDouble(static_cast<double>(last) / 1e9), "s, but this load has one at ",
              FormatDouble(static_cast<double>(position) / 1e9), "s"));
    }
    series->samples.emplace_back(position, point.value);
  }
  return OkStatus();
}

}  // namespace

Status GoldenSamples::Load(const LoadCommand& load) {
  for (const GoldenSeries& loaded : load.series) {
    const auto [found, added] = index_.try_emplace(loaded.labels, series_.size());
    if (added) series_.push_back({loaded.labels, {}});
    RETURN_IF_ERROR(AppendSamples(loaded, load.step, &series_[found->second]));
    if (loaded.HasHistogram()) traits_[loaded.labels].native_histograms = true;
    if (loaded.start_timestamps) traits_[loaded.labels].start_timestamps = true;
    if (!load.native_histograms) continue;
    if (const auto native = NativeLabels(loaded.labels)) traits_[*native].native_histograms = true;
  }
  return OkStatus();
}

void GoldenSamples::Clear() { *this = GoldenSamples(); }

GoldenSamples::Touched GoldenSamples::TouchedBy(const std::string& expr) const {
  Touched touched;
  lang::Diagnostics ignored;
  const lang::Source source("query", expr);
  const lang::ExprPtr tree = lang::ParseExpr(source, &ignored);
  if (tree == nullptr) return touched;
  lang::Visit(*tree, [&](const lang::Expr& node) {
    const auto* selector = node.As<lang::SelectorExpr>();
    if (selector == nullptr) return;
    const auto matchers = plan::SelectorOf(*selector);
    if (!matchers.ok()) return;  // RunQuery reports the error
    for (const auto& [labels, traits] : traits_) {
      if (!matchers->Matches(labels)) continue;
      touched.native_histograms |= traits.native_histograms;
      touched.start_timestamps |= traits.start_timestamps;
    }
  });
  return touched;
}

}  // namespace pitwall::offline
