// Readers of the node's system stream, which all jobs share. system_readers.inc lists them.
#pragma once

#include <memory>
#include <vector>

#include "services/base/clock.h"
#include "services/collector/readers/driver_counters.h"
#include "services/collector/readers/monotonic_event_clock.h"
#include "services/collector/readers/series_reader.h"

namespace pitwall::collector {

// Context of system readers. The caller owns all objects, which must outlive the readers. No
// pointer is null.
struct SystemContext : ReaderContext {
  const Clock* clock;  // for readers that read less often than the sampler calls them
  const MonotonicEventClock* event_clock;
  const DriverCounters* driver_counters;
};

// One factory per reader.
#define PITWALL_SYSTEM_READER(name, factory) \
  std::unique_ptr<SeriesReader> factory(const SystemContext& context);
#include "services/collector/readers/system/system_readers.inc"

// Returns all system readers in the order of their series.
std::vector<std::unique_ptr<SeriesReader>> NewSystemReaders(const SystemContext& context);

}  // namespace pitwall::collector
