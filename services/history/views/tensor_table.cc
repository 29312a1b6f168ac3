#include "services/history/views/tensor_table.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "services/base/text/strings.h"
#include "services/history/views/steps/selectors.h"
#include "services/model/value.h"

namespace pitwall::history {
namespace {

constexpr std::string_view kPrefix = "train_tensor_";

}  // namespace

StatusOr<std::vector<TensorRow>> MakeTensorTable(const History& history, const TensorQuery& query) {
  Selector selector = SelectorOfPrefix(kPrefix);
  if (!query.name.empty()) selector = WithLabel(std::move(selector), "tensor", query.name);
  if (!query.collection.empty())
    selector = WithLabel(std::move(selector), "collection", query.collection);
  if (!query.mode.empty()) selector = WithLabel(std::move(selector), "mode", query.mode);
  // Histogram buckets are excluded, because they have one series per bound.
  selector.matchers.push_back(*Matcher::Make("le", MatchOp::kEqual, ""));
  SampleQuery read;
  read.job = query.job->id;
  read.selectors = {std::move(selector)};
  read.limits = query.limits;
  if (query.to_step == kMaxPosition) {
    // Most tensors are saved at the same steps, so reading starts at the oldest of their newest
    // samples.
    ASSIGN_OR_RETURN(const std::vector<SeriesInfo> infos, history.Series(read));
    if (infos.empty()) return std::vector<TensorRow>{};
    read.range.from_ns = kMaxPosition;
    for (const SeriesInfo& info : infos)
      read.range.from_ns = std::min(read.range.from_ns, info.last_ns);
  }
  ASSIGN_OR_RETURN(const std::vector<SampleColumn> columns, history.Samples(read));
  std::map<std::tuple<std::string, std::string, std::string, int64_t>, TensorRow> rows;
  for (const SampleColumn& column : columns) {
    const Labels& labels = column.labels;
    const int64_t rank = ParseInt(labels.Get("rank")).value_or(-1);
    const bool wanted = query.ranks.empty() || std::find(query.ranks.begin(), query.ranks.end(),
                                                         rank) != query.ranks.end();
    if (!wanted || column.steps.empty()) continue;
    TensorRow& row = rows[{std::string(labels.Get("tensor")), std::string(labels.Get("collection")),
                           std::string(labels.Get("mode")), rank}];
    for (size_t i = column.times.size(); i-- > 0;) {
      const int64_t step = column.steps[i];
      if (step == kNoStep || step >= query.to_step || IsStale(column.values[i])) continue;
      if (column.times[i] > row.time_ns) {
        row.time_ns = column.times[i];
        row.step = step;
        row.statistics.clear();
      }
      if (column.times[i] == row.time_ns)
        row.statistics.emplace(labels.Name().substr(kPrefix.size()), column.values[i]);
      break;
    }
  }
  std::vector<TensorRow> out;
  for (auto& [key, row] : rows) {
    if (row.statistics.empty()) continue;
    std::tie(row.tensor, row.collection, row.mode, row.rank) = key;
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace pitwall::history
