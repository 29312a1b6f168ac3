#include "services/history/history.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "services/history/change_feed.h"

namespace pitwall::history {
namespace {

// Passes the whole range as a single window without summaries.
class WholeRange final : public StepWindow {
 public:
  WholeRange(const HistoryStorage& history, const SampleQuery& query)
      : history_(history), query_(query) {}
  Status Samples(
      const std::function<Status(const std::vector<SampleColumn>&)>& visit) const override {
    ASSIGN_OR_RETURN(const std::vector<SampleColumn> all, history_.Samples(query_));
    return visit(all);
  }

 private:
  const HistoryStorage& history_;
  const SampleQuery& query_;
};

}  // namespace

SpanPage PageOf(std::vector<SpanRow> all, size_t first, size_t most) {
  SpanPage page{{}, all.size()};
  first = std::min(first, all.size());
  const auto begin = std::make_move_iterator(all.begin() + static_cast<ptrdiff_t>(first));
  page.rows.assign(begin, begin + static_cast<ptrdiff_t>(std::min(most, all.size() - first)));
  return page;
}

Status HistoryStorage::VisitStepWindows(
    const SampleQuery& query, const std::function<Status(const StepWindows&)>& visit) const {
  const WholeRange whole(*this, query);
  return visit({&whole});
}

StatusOr<SeriesTablePtr> HistoryStorage::VisitRollups(
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

Status History::VisitSamples(
    const SampleQuery& query, const std::function<void()>& begin,
    const std::function<Status(const std::vector<SampleColumn>&)>& visit) const {
  return VisitStepWindows(query, [&](const StepWindows& windows) -> Status {
    begin();
    for (const StepWindow* window : windows) RETURN_IF_ERROR(window->Samples(visit));
    return OkStatus();
  });
}

StatusOr<std::vector<SpanRow>> History::Spans(const SpanQuery& query) const {
  ASSIGN_OR_RETURN(SpanPage all, SpansPage(query, 0, SIZE_MAX));
  return std::move(all.rows);
}

StatusOr<std::vector<IssueEventPtr>> History::Events(std::string_view job) const {
  ASSIGN_OR_RETURN(JobRecords records, Records(job, EventTopic::kIssues));
  return std::move(records.events);
}

StatusOr<std::vector<ActionEvent>> History::Actions(std::string_view job) const {
  ASSIGN_OR_RETURN(JobRecords records, Records(job, EventTopic::kActions));
  return std::move(records.actions);
}

StatusOr<std::vector<RankCapture>> History::Captures(std::string_view job) const {
  ASSIGN_OR_RETURN(JobRecords records, Records(job, EventTopic::kCaptures));
  return std::move(records.captures);
}

StatusOr<std::vector<NotificationRecord>> History::Notifications(std::string_view job) const {
  ASSIGN_OR_RETURN(JobRecords records, Records(job, EventTopic::kNotification));
  return std::move(records.notifications);
}

StatusOr<std::vector<Change>> History::ChangesAfter(uint64_t place, size_t max) const {
  return changes().After(place, max);
}

uint64_t History::newest_place() const { return changes().newest(); }

}  // namespace pitwall::history
