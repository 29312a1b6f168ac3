// Traces of PyTorch's profiler (Chrome's format, Kineto's categories, old and new names) -> samples
// with steps.
//
//   ProfilerStep#N                                   steps of mode train
//   enumerate(DataLoader)#….__next__                 phase dataloader
//   Optimizer.step#…                                 phase optimizer
//   annotations forward, backward, optimizer, dataloader, checkpoint, eval, collective
//                                                    these phases
//   DistributedDataParallel.forward                  phase forward, where nothing is annotated so
//   autograd::engine::evaluate_function: …           phase backward, where nothing is annotated so
//   record_param_comms, gloo:…, nccl:…, c10d::…      phase collective; the first kind of them that
//   the
//                                                    trace has: train_collective_operations_total
//   kernels, copies                                  train_communication_seconds (kernels of
//                                                    communication_kernels.h and copies between
//                                                    devices), train_computation_seconds (other
//                                                    kernels), train_exposed_communication_seconds,
//                                                    train_device_copy_seconds (other copies,
//                                                    fills), train_device_idle_seconds
//   operators, kernels                               train_operator_seconds{operator,device}
//
// An operator on the cpu counts without the operators that it calls; on the gpu its kernels count,
// or, where the trace does not say whose a kernel is, the kernel by its own name.
//
// Devices work behind the host, so a step lasts until its device work is done (PlaceOnDevice). A
// kernel belongs to the step that launched it: its `correlation` is that of a runtime call, or its
// `External id` that of an operator. The ProfilerStep#N that current PyTorch draws on the device
// are not used: of each stream they hold only what one thread launched.
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

// Files one after the other, in any order. A file's rank is its distributedInfo.rank, else 0; its
// clock starts at baseTimeNanoseconds, else ts are Unix times (of the profiler without Kineto: of
// 1970). All is told at Finish. Not thread-safe.
class ChromeTraceReader {
 public:
  // `name` of the whole in log lines.
  ChromeTraceReader(std::string name, SeriesIndex* out, const TraceLimits& limits = {})
      : name_(std::move(name)), out_(out), limits_(limits) {}

  void BeginFile(const std::string& path);
  // Invalid events are skipped and counted. InvalidArgument: the file is not a trace, has no valid
  // event, or was cut before the start of its clock or its rank, with file:line; ResourceExhausted:
  // a limit.
  Status Feed(std::string_view bytes) { return document_->Feed(bytes); }
  Status EndFile();
  Status Finish();
  // Of the last file.
  const lenient::SkippedRecords& skipped() const { return skipped_; }

 private:
  enum class Kind : uint8_t { kOperator, kAnnotation, kLaunch, kKernel, kCollective, kCopy };
  struct Event {
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    uint32_t name = 0;         // of names_
    uint32_t thread = 0;       // of threads_
    int64_t id = -1;           // External id: kernels have that of their operator
    int64_t correlation = -1;  // of what a device does: that of its launch
    Kind kind = Kind::kOperator;
  };

  static bool OnHost(Kind kind) { return kind == Kind::kOperator || kind == Kind::kAnnotation; }
  // A call of the device's runtime.
  struct Launch {
    int64_t correlation = 0;
    int64_t start_ns = 0;
    friend auto operator<=>(const Launch&, const Launch&) = default;
  };

  Status TakeEvent(std::string_view json);
  Status TakeMember(std::string_view key, std::string_view json);
  static std::optional<Kind> KindOf(const TraceEvent& event);
  // InvalidArgument: the file was cut before members without which its events mean something else.
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
  std::string without_rank_;  // path of a file that was cut before its rank

  // The file.
  std::unique_ptr<TraceDocument> document_;
  std::string path_;
  int64_t base_ns_ = 0, rank_ = 0;
  bool has_base_ = false, has_info_ = false;  // the members were seen
  lenient::SkippedRecords skipped_{"event"};
  std::vector<Event> events_;
  std::vector<std::string> names_;
  StringMap<uint32_t> name_numbers_;
  StringMap<uint32_t> threads_;
  absl::flat_hash_map<size_t, std::string> groups_;  // of collectives, by event
  std::vector<TracedStep> steps_;                    // of the file
  std::vector<Launch> launches_;
};

}  // namespace pitwall::imports
