// Interface for tracks that keep their state per series instead of in panes. A track receives the
// samples of one selector in order of position and serves demands by column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "services/base/binary.h"
#include "services/base/time.h"
#include "services/model/windows/demand.h"
#include "services/window/tracks/prefix_progress.h"

namespace pitwall::window {

// Implements Remap for a series track: column i of the result was column keep[i].
template <typename Column>
void KeepColumns(const std::vector<uint32_t>& keep, std::vector<Column>* columns) {
  std::vector<Column> kept(keep.size());
  for (size_t i = 0; i < keep.size(); ++i) {
    if (keep[i] < columns->size()) kept[i] = std::move((*columns)[keep[i]]);
  }
  *columns = std::move(kept);
}

// Begins Load for a series track: reads the number of columns, each of which occupies at least
// `min_bytes`, and replaces the columns with empty ones. More than `limit` columns are an error.
template <typename Column>
void LoadColumnCount(BinaryReader& in, size_t min_bytes, size_t limit,
                     std::vector<Column>* columns) {
  const size_t n = in.Count(min_bytes);
  if (n > limit) return in.Fail();
  columns->assign(n, Column());
}

// Not thread-safe. Has the same columns as the selector; the owner sets their number.
class SeriesTrack {
 public:
  virtual ~SeriesTrack() = default;

  // The demands determine the samples that are kept. When the demands change, call ForgetDemands
  // and then AddDemand for each demand.
  virtual void ForgetDemands() = 0;
  virtual void AddDemand(const Demand& demand) = 0;

  virtual void SetColumns(size_t columns) = 0;
  // Adds samples like Track::Scatter, except that stale markers are passed as samples.
  virtual void Scatter(Position position, std::span<const uint32_t> cells,
                       std::span<const uint32_t> columns, const double* values) = 0;
  // Returns ValuesPerSeries values per column. Samples at or before `after` are not part of the
  // demand's window.
  virtual void Read(const Demand& demand, Position tick, Position after,
                    std::span<const double> arguments, double* values, uint8_t* present) = 0;
  // Returns whether the last Read encountered a window whose samples were dropped because of the
  // limit.
  virtual bool incomplete() const = 0;
  // Returns the progress of the fullest column, or nullopt if any column has a full window.
  virtual std::optional<PrefixProgress> Filling(const Demand& /*demand*/, Position /*tick*/) const {
    return std::nullopt;
  }

  // Reorders the columns: column i of the result was column keep[i].
  virtual void Remap(const std::vector<uint32_t>& keep) = 0;
  // Resets the state but keeps the demands and columns. Later reads ignore samples at or before
  // `after`.
  virtual void Restart(Position after) = 0;

  virtual void Save(BinaryWriter& out) const = 0;
  virtual void Load(BinaryReader& in, size_t columns) = 0;
  virtual size_t MemoryBytes() const = 0;
};

}  // namespace pitwall::window
