#include "services/history/history.h"

namespace pitwall::history {
namespace {

// Passes the whole range as a single window without summaries.
class WholeRange final : public StepWindow {
 public:
  WholeRange(const History& history, const SampleQuery& query) : history_(history), query_(query) {}
  Status Samples(
      const std::function<Status(const std::vector<SampleColumn>&)>& visit) const override {
    std::vector<std::vector<SampleColumn>> parts;
    RETURN_IF_ERROR(history_.VisitSamples(
        query_, [&] { parts.clear(); },
        [&](std::vector<SampleColumn> part) {
          parts.push_back(std::move(part));
          return OkStatus();
        }));
    for (const std::vector<SampleColumn>& part : parts) RETURN_IF_ERROR(visit(part));
    return OkStatus();
  }

 private:
  const History& history_;
  const SampleQuery& query_;
};

}  // namespace

Status History::VisitStepWindows(const SampleQuery& query,
                                 const std::function<Status(const StepWindows&)>& visit) const {
  const WholeRange whole(*this, query);
  return visit({&whole});
}

StatusOr<SeriesTablePtr> History::VisitRollups(
    const SeriesQuery& query, size_t tier, const std::function<void()>& begin,
    const std::function<Status(std::span<const RollupPart>)>& visit) const {
  begin();
  ASSIGN_OR_RETURN(const std::vector<RollupColumn> columns, Rollups(query, tier));
  std::vector<SeriesDescriptor> series;
  for (const RollupColumn& column : columns) series.push_back({column.labels, column.kind});
  for (uint32_t i = 0; i < columns.size(); ++i) {
    const RollupPart part = {i, &series[i], std::span(columns[i].rows)};
    RETURN_IF_ERROR(visit({&part, 1}));
  }
  return MakeSeriesTable(std::move(series));
}

}  // namespace pitwall::history
