// Importer for PyTorch profiler traces (Chrome trace format with Kineto's categories, old and new
// names), which become samples with steps.
//
//   ProfilerStep#N                                   training steps
//   enumerate(DataLoader)#….__next__                 phase dataloader
//   Optimizer.step#…                                 phase optimizer
//   annotations forward, backward, optimizer, dataloader, checkpoint, eval, collective
//                                                    these phases
//   DistributedDataParallel.forward                  phase forward, unless annotated
//   autograd::engine::evaluate_function: …           phase backward, unless annotated
//   record_param_comms, gloo:…, nccl:…, c10d::…      phase collective, from the first of these
//                                                    kinds that occurs in the trace, and
//                                                    train_collective_operations_total
//   kernels, copies                                  train_communication_seconds (kernels of
//                                                    communication_kernels.h and copies between
//                                                    devices), train_computation_seconds (other
//                                                    kernels), train_exposed_communication_seconds,
//                                                    train_device_copy_seconds (other copies,
//                                                    fills), train_device_idle_seconds
//   operators, kernels                               train_operator_seconds{operator,device}
//
// The CPU time of an operator excludes the operators that it calls. Its GPU time is the time of its
// kernels. If the trace does not link a kernel to an operator, the kernel counts under its own
// name.
//
// Devices lag behind the host, so a step lasts until its device work is done (PlaceOnDevice). A
// kernel belongs to the step that launched it: its `correlation` matches a runtime call, or its
// `External id` matches an operator. The ProfilerStep#N events that current PyTorch records on the
// device are not used, because each one covers only the work that one thread launched on one
// stream.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/base/status.h"
#include "services/base/text/strings.h"
#include "services/codec/imports/series_index.h"
#include "services/codec/imports/traces/device_time.h"
#include "services/codec/imports/traces/rank_trace.h"
#include "services/codec/imports/traces/trace_document.h"
#include "services/codec/imports/traces/trace_event.h"

namespace pitwall::imports {

// Reads files sequentially, in any order. A file's rank is its distributedInfo.rank, or 0 if
// absent. Its clock starts at baseTimeNanoseconds; if that is absent, `ts` values are Unix times
// (in 1970 for the profiler without Kineto). Emits all samples at Finish. Not thread-safe.
class ChromeTraceReader {
 public:
  // `name` identifies the whole input in log lines.
  ChromeTraceReader(std::string name, SeriesIndex* out, const TraceLimits& limits = {})
      : name_(std::move(name)), out_(out), limits_(limits) {}

  void BeginFile(const std::string& path);
  // Reads the next bytes. Invalid events are skipped and counted. Returns InvalidArgument, with
  // file:line, if the file is not a trace, has no valid event, or was truncated before its clock
  // start or rank. Returns ResourceExhausted if a limit is exceeded.
  Status Feed(std::string_view bytes) { return document_->Feed(bytes); }
  Status EndFile();
  Status Finish();
  // Skipped events in the last file.
  const lenient::SkippedRecords& skipped() const { return skipped_; }

 private:
  enum class Kind : uint8_t { kOperator, kAnnotation, kLaunch, kKernel, kCollective, kCopy };
  struct Event {
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    uint32_t name = 0;         // index in names_
    uint32_t thread = 0;       // index in threads_
    int64_t id = -1;           // External id; a kernel has the ID of its operator
    int64_t correlation = -1;  // for device work, the correlation of its launch
    Kind kind = Kind::kOperator;
  };

  static bool OnHost(Kind kind) { return kind == Kind::kOperator || kind == Kind::kAnnotation; }
  // Call to the device runtime.
  struct Launch {
    int64_t correlation = 0;
    int64_t start_ns = 0;
    friend auto operator<=>(const Launch&, const Launch&) = default;
  };

  Status TakeEvent(std::string_view json);
  Status TakeMember(std::string_view key, std::string_view json);
  static std::optional<Kind> KindOf(const TraceEvent& event);
  // Returns InvalidArgument if the file was truncated before members that determine the meaning of
  // its events.
  Status CheckCut();
  void SkipImpossibleTimes();
  // Parts of EndFile.
  void TakeSteps();
  void TakePhases(RankTrace* trace) const;
  void TakeOperators(RankTrace* trace) const;
  std::vector<DeviceWork> Works() const;
  void TakeKernels(const std::vector<DeviceWork>& works, RankTrace* trace) const;
  void TellOfNoSteps(const std::vector<DeviceWork>& works) const;
  void TakeCollectives(RankTrace* trace) const;

  const std::string name_;
  SeriesIndex* const out_;
  const TraceLimits limits_;
  size_t events_in_all_ = 0;
  std::map<int64_t, RankTrace> ranks_;
  int64_t world_size_ = 0;
  size_t files_ = 0;
  std::string without_rank_;  // path of a file truncated before its rank

  // State of the current file.
  std::unique_ptr<TraceDocument> document_;
  std::string path_;
  int64_t base_ns_ = 0, rank_ = 0;
  bool has_base_ = false, has_info_ = false;  // whether these members were seen
  lenient::SkippedRecords skipped_{"event"};
  std::vector<Event> events_;
  std::vector<std::string> names_;
  StringMap<uint32_t> name_numbers_;
  StringMap<uint32_t> threads_;
  absl::flat_hash_map<size_t, std::string> groups_;  // groups of collectives, by event
  std::vector<TracedStep> steps_;                    // of the current file
  std::vector<Launch> launches_;
};

}  // namespace pitwall::imports
