#include "services/history/views/steps/heat_map.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "services/history/views/steps/natural_order.h"
#include "services/model/value.h"

namespace pitwall::history {
namespace {

double ValueOf(const RollupRow& row, HeatValue value) {
  switch (value) {
    case HeatValue::kMean:
      return row.sum / row.count;
    case HeatValue::kMin:
      return row.min;
    case HeatValue::kMax:
      return row.max;
    case HeatValue::kLast:
      return row.last;
  }
  return NormalNan();
}

}  // namespace

StatusOr<HeatMap> MakeHeatMap(const History& history, const BucketQuery& query, HeatValue value) {
  HeatMap map;
  map.grid = GridOf(query);
  ASSIGN_OR_RETURN(std::optional<std::vector<BucketColumn>> columns,
                   ReadCoarse(history, query, &map.grid));
  if (!columns.has_value()) {
    ASSIGN_OR_RETURN(columns, ReadBuckets(history, query, map.grid));
  }
  for (const BucketColumn& column : *columns) {
    HeatMapRow& row = map.rows.emplace_back();
    row.labels = column.labels;
    row.cells.assign(map.grid.buckets(), NormalNan());
    for (const RollupRow& bucket : column.rows) {
      const auto at =
          static_cast<size_t>((bucket.start_ns - map.grid.range.from_ns) / map.grid.bucket_ns);
      if (at < row.cells.size()) row.cells[at] = ValueOf(bucket, value);
    }
  }
  std::sort(map.rows.begin(), map.rows.end(), [](const HeatMapRow& a, const HeatMapRow& b) {
    return NaturallyLess(a.labels, b.labels);
  });
  return map;
}

}  // namespace pitwall::history
