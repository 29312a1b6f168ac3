// The node's unpublished rows: rows that all jobs share, and rows for one job.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/collector/readers/driver_counters.h"
#include "services/collector/readers/monotonic_event_clock.h"
#include "services/collector/readers/series_reader.h"
#include "services/collector/readers/stream_table.h"
#include "services/model/telemetry.h"

namespace pitwall::collector {

// The node's streams are 1 system, 2 cores, 3 GPUs, 4 processes, and 5 cgroup. The classes below
// are owned by the sampler's thread.
using SeriesReaders = std::vector<std::unique_ptr<SeriesReader>>;

// Returns the readers as a list.
template <typename... Readers>
SeriesReaders ListReaders(Readers... readers) {
  SeriesReaders out;
  (out.push_back(std::move(readers)), ...);
  return out;
}

// The node's system and core streams, which are sampled once for all jobs.
class SharedStreams {
 public:
  // The caller owns the clocks.
  SharedStreams(const ReaderContext& context, const Clock& clock, const MonotonicEventClock& time);

  // Appends one row to each stream at `tick_ns`.
  void Sample(int64_t tick_ns);
  // Discards the rows.
  void Clear();
  const StreamTable& system() const { return system_; }
  const StreamTable& cores() const { return cores_; }

 private:
  const EthtoolCounters driver_counters_;
  StreamTable system_;
  StreamTable cores_;
};

// Streams that one job receives: the shared streams, and the job's own GPUs, processes, and cgroup.
// A schema is sent when it changes, and repeated every 5 s.
class JobStreams {
 public:
  explicit JobStreams(bool has_cores);

  // Replaces the readers of one stream, starting with the next Sample.
  void SetGpus(SeriesReaders readers) { gpus_.table.SetReaders(std::move(readers)); }
  void SetProcesses(SeriesReaders readers) { processes_.table.SetReaders(std::move(readers)); }
  void SetCgroup(SeriesReaders readers) { cgroup_.table.SetReaders(std::move(readers)); }
  // Starts or ends the core series.
  void SetCores(bool on);

  // Appends one row to each of the job's own streams at `tick_ns`.
  void Sample(int64_t tick_ns);
  // Appends all rows, and the schemas that the receivers need. The frames are valid until the rows
  // are cleared. `tick_ns` is the last tick.
  void AppendTo(const SharedStreams& shared, int64_t tick_ns, Batch* batch);
  // Discards the rows in the job's own streams.
  void Clear();

 private:
  struct OwnStream {
    StreamTable table;
    uint64_t announced = 0;
  };

  uint64_t announced_system_ = 0;
  uint64_t announced_cores_ = 0;
  OwnStream gpus_;
  OwnStream processes_;
  OwnStream cgroup_;
  bool has_cores_;
  bool withdraw_cores_ = false;
  int64_t withdrawn_ns_ = 0;  // time of the row that ends the cores
  int64_t schemas_sent_ns_ = 0;
};

}  // namespace pitwall::collector
