// Where series end: their source said goodbye, or nothing was heard of it for so long that the
// engine takes its series for ended (time-model.md, section 2).
#include <algorithm>
#include <map>
#include <set>

#include "services/insights/keep/job_reader.h"
#include "services/insights/keep/window_view.h"
#include "services/model/value.h"

namespace pitwall::insights {
namespace {

// Puts a marker at the time, unless the sample before it is a marker already.
void Insert(int64_t time_ns, SampleColumn* column) {
  const auto at = std::lower_bound(column->times_ns.begin(), column->times_ns.end(), time_ns);
  const auto i = at - column->times_ns.begin();
  if (i == 0 || (at != column->times_ns.end() && *at == time_ns)) return;
  if (IsStale(column->values[static_cast<size_t>(i) - 1])) return;
  column->times_ns.insert(at, time_ns);
  column->values.insert(column->values.begin() + i, StaleMarker());
  if (!column->steps.empty()) column->steps.insert(column->steps.begin() + i, kNoStep);
}

}  // namespace

Status JobReader::AddStaleMarkers(const KeptJobPtr& job, const SampleQuery& query,
                                  std::vector<SampleColumn>* columns) const {
  // A silence may begin before the range and end in it.
  TimeRange range = query.range;
  if (range.from_ns > kMinPosition + kWindowNs) range.from_ns -= kWindowNs;
  SeriesSet set(query.selectors, query.limits.series);
  std::map<OriginKey, std::vector<Beat>> beats;
  std::map<OriginKey, std::set<uint32_t>> series_of;
  int64_t newest_ns = 0;
  const auto take = [&](const Beat& beat) {
    beats[{beat.origin->source, beat.origin->boot}].push_back(beat);
  };
  const auto begin = [&] {
    beats.clear();
    series_of.clear();
    MutexLock lock(&job->mutex());
    newest_ns = job->newest_ns();
    for (const auto& [start, window] : job->windows()) {
      if (window.head == nullptr || start + kWindowNs <= range.from_ns || start >= range.to_ns)
        continue;
      for (const Beat& beat : window.head->beats()) take(beat);
    }
  };
  const Status walked =
      ForEachWindow(*store_, *job, range, &set, begin, [&](WindowView* view) -> Status {
        if (view->segment != nullptr) {
          std::vector<Beat> sealed;
          RETURN_IF_ERROR(view->segment->ReadBeats(&sealed));
          for (const Beat& beat : sealed) take(beat);
        }
        RETURN_IF_ERROR(view->AddSealedRows(&set));
        for (const RowTable& table : view->tables) {
          ASSIGN_OR_RETURN(const WantedColumns* wanted, set.Of(*table.schema));
          series_of[{table.origin->source, table.origin->boot}].insert(wanted->series.begin(),
                                                                       wanted->series.end());
        }
        return OkStatus();
      });
  RETURN_IF_ERROR(walked);
  std::map<Labels, SampleColumn*> by_labels;
  for (SampleColumn& column : *columns) by_labels[column.labels] = &column;
  for (auto& [key, list] : beats) {
    std::sort(list.begin(), list.end(), [](const Beat& a, const Beat& b) {
      return std::tie(a.promise_ns, a.sequence) < std::tie(b.promise_ns, b.sequence);
    });
    std::vector<int64_t> ends;
    for (size_t i = 0; i < list.size(); ++i) {
      const int64_t next_ns = i + 1 < list.size() ? list[i + 1].promise_ns : newest_ns;
      if (list[i].goodbye || next_ns - list[i].promise_ns > list[i].idle_ns)
        ends.push_back(list[i].promise_ns + 1);
    }
    for (const int64_t end : ends) {
      if (end < query.range.from_ns || end >= query.range.to_ns) continue;
      for (const uint32_t series : series_of[key]) {
        const auto at = by_labels.find(set.all()[series].labels);
        if (at != by_labels.end()) Insert(end, at->second);
      }
    }
  }
  return OkStatus();
}

}  // namespace pitwall::insights
