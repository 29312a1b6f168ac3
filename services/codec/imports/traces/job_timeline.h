// Importer for framework traces written by Amazon SageMaker Debugger
// (`<end>_<pid>-<node>_pythontimeline.json` and similar), which become samples with steps.
//
//   Step:ModeKeys.TRAIN, .EVAL, …            steps with mode train, eval, … (args step_num)
//   Forward, aws_marker-ForwardPass          phase forward
//   Backward…, aws_marker-ComputeGradient    phase backward
//   aws_marker-ApplyGradient                 phase optimizer
//   DataLoaderIter, DataIterator             phase dataloader
//   operations of Horovod, SMDataParallel,   phase collective
//   and NcclManager
//   cpu_functions, gpu_functions-dev:N,      train_operator_seconds{operator,device}
//   /device:…
//   DataLoaderIterInitialize                 train_loader_workers_configured,
//                                            train_loader_pin_memory
//   DataLoaderWorker                         train_loader_workers: processes seen in each second,
//                                            emitted at the end of that second
//
// Ranks are the processes that have steps, ordered by node and process: algo-1 is rank 0 if each
// node has one process. Events from a process without steps belong to the first rank on its node.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "services/base/status.h"
#include "services/codec/imports/series_index.h"
#include "services/codec/imports/traces/rank_trace.h"
#include "services/codec/imports/traces/trace_document.h"
#include "services/codec/imports/traces/trace_event.h"

namespace pitwall::imports {

// Returns true if `file_name` is a valid name for such a trace.
bool IsJobTimeline(std::string_view file_name);

// Reads files sequentially, in any order. Emits all samples at Finish. Not thread-safe.
class JobTimelineReader {
 public:
  // `name` identifies the whole input in log lines.
  JobTimelineReader(std::string name, SeriesIndex* out, const TraceLimits& limits = {})
      : name_(std::move(name)), out_(out), limits_(limits) {}

  // Starts a file. `path` ends with the file name. Returns InvalidArgument unless IsJobTimeline
  // accepts the name.
  Status BeginFile(const std::string& path);
  // Reads the next bytes. Invalid events are skipped and counted. Returns InvalidArgument, with
  // file:line, if the file is not a trace or has no valid event. The reader then discards the file,
  // and the next file may begin. Returns ResourceExhausted if a limit is exceeded.
  Status Feed(std::string_view bytes) { return document_->Feed(bytes); }
  Status EndFile();
  Status Finish();
  // Skipped events in the last file.
  const lenient::SkippedRecords& skipped() const { return skipped_; }

 private:
  // Node and process. Nodes are ordered by number, so algo-2 comes before algo-10.
  using Process = std::tuple<int64_t, std::string, int64_t>;
  struct Worker {
    int64_t second = 0;
    std::string pid;
    friend auto operator<=>(const Worker&, const Worker&) = default;
  };
  struct Traced {
    RankTrace trace;
    std::set<Worker> workers;  // loader workers by second

    void AddValue(std::string_view metric, double value, int64_t time_ns);
    // Adds all data from another object.
    void Add(Traced other);
  };
  // Phase of the events with the same JSON pid in one file.
  struct Track {
    std::string phase;
    std::vector<TraceEvent> begun;  // B events without their E event
  };

  Status Take(std::string_view json);
  Status TakeMetadata(const TraceEvent& event);
  Status TakeSpan(const Track& track, const TraceEvent& event, int64_t start_ns, int64_t end_ns);
  Status TakeStep(const TraceEvent& event, std::string_view mode, int64_t start_ns, int64_t end_ns);

  const std::string name_;
  SeriesIndex* const out_;
  const TraceLimits limits_;
  size_t events_ = 0;
  std::map<Process, Traced> processes_;  // of earlier files

  // State of the current file.
  lenient::SkippedRecords skipped_{"event"};
  std::unique_ptr<TraceDocument> document_;
  Process process_;
  Traced traced_;                    // merged into processes_ after the whole file was read
  bool collectives_ = false;         // the file has only collectives
  std::optional<int64_t> start_ns_;  // start of the file's clock, as Unix time
  std::map<std::string, Track> tracks_;
};

}  // namespace pitwall::imports
