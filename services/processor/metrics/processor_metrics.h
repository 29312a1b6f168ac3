// Metrics of the processor: pitwall_processor_* and, with a memory budget, pitwall_memory_*.
#pragma once

#include "services/base/clock.h"
#include "services/base/system/memory_budget.h"
#include "services/processor/processor.h"
#include "services/self_metrics/probe.h"

namespace pitwall::processor {

// Each scrape reads the partitions' public state. The processor and the clock must outlive the
// probe.
void AddProcessorMetrics(const Processor* processor, const Clock* clock,
                         self_metrics::Probe* probe);
// The budget must outlive the probe.
void AddMemoryMetrics(const MemoryBudget* budget, self_metrics::Probe* probe);

}  // namespace pitwall::processor
