// Sink of the importers in this folder: samples of finished jobs, with their steps.
//
//   training logs: CSV, JSON         table_reader.h, by a mapping (mapping.h)
//   SageMaker Debugger's metrics     system_metrics.h
//   SageMaker Debugger's traces      job_timeline.h  } events of a trace (trace_document.h) become
//   traces of PyTorch's profiler     chrome_trace.h  } steps and phases (rank_trace.h)
//
// Readers accept bytes in pieces of any size and are strict. Errors name file, line, and cause.
// Readers are not thread-safe.
#pragma once

#include <cstdint>
#include <string_view>

#include "services/base/status.h"
#include "services/model/labels.h"
#include "services/model/position.h"

namespace pitwall::imports {

class SampleSink {
 public:
  virtual ~SampleSink() = default;
  // Adds a new combination of label set (with __name__) and mode; `series` counts up from 0.
  // `mode` is that of the steps of its samples; empty: the samples have no step.
  virtual Status NewSeries(uint32_t series, Labels labels, std::string_view mode) = 0;
  // Event time in Unix nanoseconds; `step` is kNoStep exactly if the series has no mode. `line`
  // counts from 1. An error stops the reader, which prefixes it with file and line.
  virtual Status Sample(uint32_t series, int64_t time_ns, int64_t step, double value,
                        uint32_t line) = 0;
};

}  // namespace pitwall::imports
