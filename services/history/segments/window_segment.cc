#include "services/history/segments/window_segment.h"

#include <algorithm>
#include <array>
#include <utility>

namespace pitwall::history {
namespace {

using Single = SegmentTables::Single;

}  // namespace

StatusOr<std::shared_ptr<const WindowSegment>> WindowSegment::Open(const std::string& path,
                                                                   const SegmentMeta* facts,
                                                                   const SharedBySegments& shared) {
  std::shared_ptr<WindowSegment> out(
      new WindowSegment(path, facts == nullptr ? 0 : facts->window_ns, shared.cache));
  const uint32_t* const footer_crc = facts == nullptr ? nullptr : &facts->footer_crc;
  RETURN_IF_ERROR(out->tables_.Open(footer_crc, shared.on_damage));
  RETURN_IF_ERROR(out->window_.Read(facts, shared.schemas));
  out->bytes_ = out->tables_.bytes() + out->window_.bytes();
  return std::shared_ptr<const WindowSegment>(std::move(out));
}

Status WindowSegment::ReadSeries(SeriesSet* set, std::vector<StoredSeries>* out) const {
  for (const SegmentTables::Place& place : tables_.series()) {
    const Schema& schema = *window_.schemas()[place.schema];
    ASSIGN_OR_RETURN(const WantedColumns* wanted, set->Of(schema));
    if (wanted->columns.empty()) continue;
    ASSIGN_OR_RETURN(const store::TablePtr table, tables_.reader().TableAt(place.table));
    for (size_t g = 0; g < table->groups.size(); ++g) {
      std::vector<int64_t> columns;
      RETURN_IF_ERROR(tables_.reader().ReadInts(*table, g, 2, &columns));
      // Most groups have no selected series, so they are skipped before their rollups are read.
      std::vector<std::pair<size_t, uint32_t>> hits;
      for (size_t row = 0; row < columns.size(); ++row) {
        const auto at = std::lower_bound(wanted->columns.begin(), wanted->columns.end(),
                                         static_cast<uint32_t>(columns[row]));
        if (at == wanted->columns.end() || *at != columns[row]) continue;
        hits.emplace_back(row, wanted->series[static_cast<size_t>(at - wanted->columns.begin())]);
      }
      if (hits.empty()) continue;
      std::vector<std::string> blobs;
      RETURN_IF_ERROR(tables_.reader().ReadTexts(*table, g, 4, &blobs));
      for (const auto& [row, series] : hits) {
        BinaryReader in(blobs[row]);
        out->push_back({series, RestoreRows(in)});
        RETURN_IF_ERROR(in.Finish(path()));
      }
    }
  }
  return OkStatus();
}

Status WindowSegment::ReadHeartbeats(std::vector<Heartbeat>* out) const {
  std::array<std::vector<int64_t>, 5> columns;
  RETURN_IF_ERROR(tables_.ReadInts(Single::kBeats, 0, columns));
  const auto& [promise, origins, sequence, idle, goodbye] = columns;
  for (size_t row = 0; row < promise.size(); ++row) {
    ASSIGN_OR_RETURN(const OriginPtr* origin, window_.OriginAt(origins[row]));
    out->push_back({*origin, promise[row], sequence[row], idle[row], goodbye[row] != 0});
  }
  return OkStatus();
}

Status WindowSegment::ReadHeartbeatRuns(std::vector<HeartbeatRun>* out) const {
  std::array<std::vector<int64_t>, 6> columns;
  RETURN_IF_ERROR(tables_.ReadInts(Single::kBeatRuns, 0, columns));
  const auto& [first, origins, promise, sequence, idle, goodbye] = columns;
  for (size_t row = 0; row < first.size(); ++row) {
    ASSIGN_OR_RETURN(const OriginPtr* origin, window_.OriginAt(origins[row]));
    out->push_back(
        {first[row], {*origin, promise[row], sequence[row], idle[row], goodbye[row] != 0}});
  }
  return OkStatus();
}

}  // namespace pitwall::history
