// Implementation of SegmentQuery's step queries.
#include "services/history/query/segment_query.h"
#include "services/history/query/window_samples.h"
#include "services/history/segments/step_summaries.h"

namespace pitwall::history {
namespace {

class KeptStepWindow final : public StepWindow {
 public:
  KeptStepWindow(const HistoryStore* store, const SampleQuery* query, const WindowView* view,
                 SeriesSet* set)
      : store_(*store), query_(*query), view_(*view), set_(set) {
    // Summaries do not include late rows that are still in memory.
    if (view_.head.empty() && view_.sealed.has_value() && view_.Within(query_.range))
      steps_ = view_.sealed->steps.Find(query_.mode);
    if (steps_ != nullptr && !steps_->summed) steps_ = nullptr;
  }

  StatusOr<StepSummaryPtr> Summary(StepBasis basis) const override {
    if (steps_ == nullptr) return StepSummaryPtr();
    return Page<StepSummary>(basis, 0, ReadStepSummary);
  }
  StatusOr<StepBlocksPtr> Blocks(StepBasis basis, size_t level) const override {
    if (steps_ == nullptr) return StepBlocksPtr();
    ASSIGN_OR_RETURN(const StepSummaryPtr summary, Summary(basis));
    return Page<StepBlocks>(basis, 1 + level, [&](const std::string& path, const store::Page& at) {
      return ReadStepBlocks(path, at, *summary);
    });
  }
  Status Samples(
      const std::function<Status(const std::vector<SampleColumn>&)>& visit) const override {
    if (HasOtherSteps(query_, view_)) return OkStatus();
    WindowView open = view_;
    RETURN_IF_ERROR(OpenWindow(store_, &open));
    std::vector<SampleColumn> found;
    size_t count = 0;
    RETURN_IF_ERROR(AddSamples(query_, &open, set_, &found, &count));
    return visit(InOrder(*set_, &found));
  }

 private:
  template <typename T, typename Read>
  StatusOr<std::shared_ptr<const T>> Page(StepBasis basis, size_t number, Read read) const {
    const auto at = static_cast<size_t>(basis);
    const auto mode = static_cast<size_t>(steps_ - view_.sealed->steps.modes.data());
    const auto place = (mode * kStepBases.size() + at) * (1 + kStepBlocks.size()) + number;
    const SegmentCache::Key key =
        SegmentCache::StepsKey(view_.sealed->generation, static_cast<uint32_t>(place));
    if (auto found = store_.segments().cache().Find<T>(key); found != nullptr) return found;
    ASSIGN_OR_RETURN(std::shared_ptr<const T> page,
                     read(store_.segments().PathOf(*view_.sealed), steps_->pages[at][number]));
    store_.segments().cache().Put(key, page, BytesOf(*page));
    return page;
  }

  const HistoryStore& store_;
  const SampleQuery& query_;
  const WindowView& view_;
  SeriesSet* const set_;
  const ModeSteps* steps_ = nullptr;  // requires that the window has a summary
};

}  // namespace

Status SegmentQuery::VisitStepWindows(
    const SampleQuery& query, const std::function<Status(const StepWindows&)>& visit) const {
  ASSIGN_OR_RETURN(const StoredJobPtr job, FindStoredJob(*store_, query.job));
  return WhileSealed(*job, [&](uint64_t* version) -> Status {
    SeriesSet set(query.selectors, query.limits.series, &store_->segments().schemas(), query.job);
    std::vector<WindowView> views;
    RETURN_IF_ERROR(CopyWindows(*job, query.range, &set, &views, version));
    std::vector<KeptStepWindow> windows;
    windows.reserve(views.size());
    StepWindows handed;
    for (const WindowView& view : views)
      handed.push_back(&windows.emplace_back(store_, &query, &view, &set));
    return visit(handed);
  });
}

}  // namespace pitwall::history
