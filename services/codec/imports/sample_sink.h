// Sink for the importers in this folder, which read the samples and steps of finished jobs.
//
//   training logs: CSV, JSON         table_reader.h, with a mapping (mapping.h)
//   SageMaker Debugger metrics       system_metrics.h
//   SageMaker Debugger traces        job_timeline.h  } trace events (trace_document.h) become
//   PyTorch profiler traces          chrome_trace.h  } steps and phases (rank_trace.h)
//
// Readers accept bytes in pieces of any size and are strict. Errors contain file, line, and cause.
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
  // Adds a new combination of label set (with __name__) and mode. `series` numbers are consecutive,
  // starting at 0. `mode` is the mode of the samples' steps, or empty if the samples have no step.
  virtual Status NewSeries(uint32_t series, Labels labels, std::string_view mode) = 0;
  // Receives one sample. `time_ns` is event time in Unix nanoseconds. `step` is kNoStep if and only
  // if the series has no mode. `line` counts from 1. An error stops the reader, which prefixes the
  // error with file and line.
  virtual Status Sample(uint32_t series, int64_t time_ns, int64_t step, double value,
                        uint32_t line) = 0;
};

}  // namespace pitwall::imports
