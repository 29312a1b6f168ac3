// Interface of a track that keeps its state series by series, not in panes: it receives the
// samples of one selector in order of position and answers demands by column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "services/base/binary.h"
#include "services/model/windows/demand.h"
#include "services/window/tracks/prefix_progress.h"

namespace pitwall::window {

// What Remap of a track by series does: column i of the result was column keep[i].
template <typename Column>
void KeepColumns(const std::vector<uint32_t>& keep, std::vector<Column>* columns) {
  std::vector<Column> kept(keep.size());
  for (size_t i = 0; i < keep.size(); ++i) {
    if (keep[i] < columns->size()) kept[i] = std::move((*columns)[keep[i]]);
  }
  *columns = std::move(kept);
}

// Not thread-safe. Columns are those of the selector; the owner tells their number.
class SeriesTrack {
 public:
  virtual ~SeriesTrack() = default;

  // What is kept follows the demands. ForgetDemands and AddDemand again after a change of them.
  virtual void ForgetDemands() = 0;
  virtual void AddDemand(const Demand& demand) = 0;

  virtual void SetColumns(size_t columns) = 0;
  // As Track::Scatter; stale markers are samples here.
  virtual void Scatter(int64_t position, std::span<const uint32_t> cells,
                       std::span<const uint32_t> columns, const double* values) = 0;
  // ValuesPerSeries values per column. `after`: samples at or before it are not the demand's.
  virtual void Read(const Demand& demand, int64_t tick, int64_t after,
                    std::span<const double> arguments, double* values, uint8_t* present) = 0;
  // Whether the last Read met a window with missing samples, since there were more than are kept.
  virtual bool lacked() const = 0;
  // While no column has the demand's window yet: how far the fullest is.
  virtual std::optional<PrefixProgress> Filling(const Demand& /*demand*/, int64_t /*tick*/) const {
    return std::nullopt;
  }

  // Column i of the result was column keep[i].
  virtual void Remap(const std::vector<uint32_t>& keep) = 0;
  virtual void ClearColumns(const std::vector<uint32_t>& columns) = 0;
  // As new, with the same demands and columns; samples at or before `after` do not count.
  virtual void Restart(int64_t after) = 0;

  virtual void Save(BinaryWriter& out) const = 0;
  virtual void Load(BinaryReader& in, size_t columns) = 0;
  virtual size_t MemoryBytes() const = 0;
};

}  // namespace pitwall::window
