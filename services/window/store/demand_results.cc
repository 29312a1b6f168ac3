#include "services/window/store/demand_results.h"

#include <algorithm>

#include "services/base/text/strings.h"
#include "services/model/position.h"
#include "services/window/store/demand_table.h"
#include "services/window/store/selector_columns.h"
#include "services/window/store/series_store.h"
#include "services/window/store/series_table.h"
#include "services/window/store/store_progress.h"

namespace pitwall::window {

Status ValidateDemand(const Demand& demand) {
  const std::optional<FunctionPlan> plan = PlanOf(demand.kind, demand.function);
  if (!plan.has_value()) {
    return InvalidArgument("this function does not support this kind of window");
  }
  const bool states = plan->family == Family::kStates;
  if (demand.kind == WindowKind::kAttempt && plan->finish == nullptr && !states &&
      plan->family != Family::kSketch) {
    return InvalidArgument(
        "this function needs every sample of its window; it does not support [attempt]");
  }
  if (demand.offset < 0)
    return InvalidArgument(Cat("offset: must not be negative (got ", demand.offset, ")"));
  const bool instant = demand.kind == WindowKind::kInstant;
  if (demand.interval <= 0 && (!instant || demand.offset > 0)) {
    return InvalidArgument(Cat("interval: must be positive (got ", demand.interval, ")"));
  }
  if ((instant || states || demand.kind == WindowKind::kSamples) && demand.lookback <= 0) {
    return InvalidArgument(Cat("look-back: must be positive (got ", demand.lookback, ")"));
  }
  if (!instant && demand.kind != WindowKind::kAttempt && demand.range <= 0)
    return InvalidArgument(Cat("range: must be positive (got ", demand.range, ")"));
  if (demand.kind == WindowKind::kSamples && demand.range > SeriesStore::kMaxOrderedSamples) {
    return ResourceExhausted(Cat("a window of ", demand.range,
                                 " samples is too long; the limit is ",
                                 SeriesStore::kMaxOrderedSamples));
  }
  if (demand.kind == WindowKind::kFirst && demand.range > SeriesStore::kMaxFirstSamples) {
    return ResourceExhausted(Cat("a window of the first ", demand.range,
                                 " samples is too long; the limit is ",
                                 SeriesStore::kMaxFirstSamples));
  }
  if (demand.skip < 0)
    return InvalidArgument(Cat("skip: must not be negative (got ", demand.skip, ")"));
  if (std::max({demand.range, demand.offset, demand.lookback, demand.interval}) >
      kMaxPosition / 4) {
    return InvalidArgument("range, offset, look-back, or interval is too long");
  }
  if (instant && demand.offset == 0) return OkStatus();
  if (IsKeptBySeries(demand, *plan)) return OkStatus();
  const WindowShape shape = ShapeOf(demand, Position());
  const int64_t most =
      plan->family == Family::kOrdered ? SeriesStore::kMaxOrderedSamples : SeriesStore::kMaxPanes;
  if (shape.panes.Reach() > most) {
    return ResourceExhausted(Cat("the window and its offset span ", shape.panes.Reach(),
                                 " panes; the limit is ", most,
                                 "; use a longer interval or a shorter window"));
  }
  return OkStatus();
}

uint64_t DemandResults::Generation(uint32_t selector) const {
  return columns_.generation(selector);
}
std::span<const Labels* const> DemandResults::Series(uint32_t selector) const {
  return columns_.labels(selector);
}

Column DemandResults::Read(uint32_t demand, std::span<const double> arguments) {
  return table_.Read(demand, arguments, progress_.read_time(), columns_, series_);
}

Status DemandResults::StatusOf(uint32_t demand) const { return table_.StatusOf(demand); }
Position DemandResults::FullFrom(uint32_t demand) const { return table_.FullFrom(demand); }
std::optional<PrefixProgress> DemandResults::Filling(uint32_t demand) const {
  return table_.Filling(demand, progress_.tick());
}
const DemandSet& DemandResults::demands() const { return table_.set(); }

}  // namespace pitwall::window
