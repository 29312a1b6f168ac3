#include "services/codec/imports/traces/chrome_trace.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/codec/imports/traces/communication_kernels.h"
#include "services/codec/imports/traces/intervals.h"
#include "services/model/position.h"

namespace pitwall::imports {

namespace {

constexpr std::string_view kStep = "ProfilerStep#";
constexpr std::string_view kBackward = "autograd::engine::evaluate_function";
constexpr std::string_view kDefaultGroup = "default";
// Maximum gap between two functions of one backward pass. Gaps between two passes are longer.
constexpr int64_t kBackwardGap = 50'000;
constexpr int64_t kMaxRank = 10'000'000;

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

// Returns the phase for an annotation in training code.
std::string_view AnnotatedPhase(std::string_view name) {
  for (const std::string_view phase :
       {"forward", "backward", "optimizer", "dataloader", "checkpoint", "eval", "collective"}) {
    if (name == phase) return phase;
  }
  if (StartsWith(name, "enumerate(DataLoader)#")) return "dataloader";
  if (StartsWith(name, "Optimizer.step#")) return "optimizer";
  return {};
}

// Returns the kind of a collective event: 0 for the event that contains the group, 1 for the
// execution, and 2 for the call. Nested events of these kinds belong to the same collective.
std::optional<int> CollectiveKind(std::string_view name) {
  if (name == "record_param_comms") return 0;
  if (StartsWith(name, "gloo:") || StartsWith(name, "nccl:")) return 1;
  if (StartsWith(name, "c10d::")) return 2;
  return std::nullopt;
}

steps::LoggedValue ValueOf(std::string_view metric, const TracedStep& step, double value) {
  steps::LoggedValue logged;
  logged.metric = metric;
  logged.value = value;
  logged.time_ns = step.end_ns;
  logged.step = step.step;
  logged.mode = step.mode;
  return logged;
}

}  // namespace

void ChromeTraceReader::BeginFile(const std::string& path) {
  path_ = path;
  ++files_;
  base_ns_ = rank_ = 0;
  has_base_ = has_info_ = false;
  skipped_ = lenient::SkippedRecords("event");
  events_.clear();
  names_.clear();
  name_numbers_.clear();
  threads_.clear();
  groups_.clear();
  steps_.clear();
  launches_.clear();
  document_ = std::make_unique<TraceDocument>(
      path, [this](std::string_view json, uint32_t) { return TakeEvent(json); },
      [this](std::string_view key, std::string_view json) { return TakeMember(key, json); },
      [](std::string_view key) { return key == "baseTimeNanoseconds" || key == "distributedInfo"; },
      &skipped_, limits_);
}

Status ChromeTraceReader::TakeMember(std::string_view key, std::string_view json) {
  const auto value = nlohmann::json::parse(json, nullptr, false);
  if (value.is_discarded()) return InvalidArgument(Cat(key, ": not JSON"));
  const auto whole = [](const nlohmann::json& number, int64_t limit) -> std::optional<int64_t> {
    if (!number.is_number_integer()) return std::nullopt;
    const auto n = number.get<int64_t>();
    return n >= 0 && n < limit ? std::optional(n) : std::nullopt;
  };
  if (key == "baseTimeNanoseconds") {
    const auto base = whole(value, kMaxPosition);
    if (!base) return InvalidArgument(Cat("baseTimeNanoseconds ", json, " is not a time"));
    base_ns_ = *base;
    has_base_ = true;
    return OkStatus();
  }
  has_info_ = true;
  if (!value.is_object()) return InvalidArgument("distributedInfo is not an object");
  if (const auto rank = value.find("rank"); rank != value.end()) {
    const auto number = whole(*rank, kMaxRank);
    if (!number) return InvalidArgument(Cat("distributedInfo: invalid rank ", rank->dump()));
    rank_ = *number;
  }
  if (const auto size = value.find("world_size"); size != value.end())
    world_size_ = std::max(world_size_, whole(*size, kMaxRank).value_or(0));
  return OkStatus();
}

std::optional<ChromeTraceReader::Kind> ChromeTraceReader::KindOf(const TraceEvent& event) {
  const std::string category = LowerCase(event.category);
  // The profiler without Kineto writes no categories, but the process name identifies the kind.
  if (category.empty()) {
    if (event.pid == "CPU functions") return Kind::kOperator;
    if (event.pid == "CUDA functions") return Kind::kKernel;
    return std::nullopt;
  }
  if (category == "cpu_op" || category == "operator") return Kind::kOperator;
  if (category == "user_annotation") return Kind::kAnnotation;
  if (category == "kernel") return Kind::kKernel;
  if (category == "collective_comm") return Kind::kCollective;
  if (category == "gpu_memcpy" || category == "gpu_memset" || category == "memcpy" ||
      category == "memset")
    return Kind::kCopy;
  // cuda_runtime, cuda_driver, xpu_runtime, …
  if (category == "runtime" || EndsWith(category, "_runtime") || EndsWith(category, "_driver"))
    return Kind::kLaunch;
  return std::nullopt;
}

Status ChromeTraceReader::TakeEvent(std::string_view json) {
  ASSIGN_OR_RETURN(const std::optional<TraceEvent> event, ReadTraceEvent(json));
  if (!event || event->phase != 'X') return OkStatus();
  const auto kind = KindOf(*event);
  if (!kind) return OkStatus();
  RETURN_IF_ERROR(event->times);
  const int64_t correlation = ParseInt(event->Arg("correlation")).value_or(-1);
  if (*kind == Kind::kLaunch && correlation <= 0) return OkStatus();
  if (++events_in_all_ > limits_.events)
    return ResourceExhausted(Cat(
        "too many operators, annotations, and kernels in one input (limit ", limits_.events, ")"));
  if (*kind == Kind::kLaunch) {
    launches_.push_back({correlation, event->start_ns});
    return OkStatus();
  }
  const auto number_of = [](StringMap<uint32_t>& numbers, const std::string& text) {
    return numbers.try_emplace(text, static_cast<uint32_t>(numbers.size())).first->second;
  };
  Event kept;
  kept.start_ns = event->start_ns;
  kept.end_ns = event->start_ns + event->duration_ns;
  kept.name = number_of(name_numbers_, event->name);
  if (kept.name == names_.size()) names_.push_back(event->name);
  kept.thread = number_of(threads_, Cat(event->pid, " ", event->tid));
  kept.kind = *kind;
  kept.correlation = correlation;
  for (const std::string_view key : {"External id", "external id"}) {
    if (const auto id = ParseInt(event->Arg(key)); id && *id > 0) kept.id = *id;
  }
  if (OnHost(*kind) && StartsWith(event->name, kStep)) {
    const auto step = ParseInt(std::string_view(event->name).substr(kStep.size()));
    if (!step || *step < 0 || *step > kMaxStep)
      return InvalidArgument(Cat(Quote(event->name), " is not a step"));
  }
  if (OnHost(*kind) && CollectiveKind(event->name)) {
    if (const std::string_view group = event->Arg("Process Group Name"); !group.empty())
      groups_.emplace(events_.size(), group);
  }
  events_.push_back(kept);
  return OkStatus();
}

Status ChromeTraceReader::EndFile() {
  RETURN_IF_ERROR(document_->Finish());
  RETURN_IF_ERROR(CheckCut());
  // Members such as baseTimeNanoseconds may follow the events, so times are adjusted at the end.
  for (Event& event : events_) {
    event.start_ns += base_ns_;
    event.end_ns += base_ns_;
  }
  SkipImpossibleTimes();
  RETURN_IF_ERROR(skipped_.Finish(path_));
  for (Launch& launch : launches_) launch.start_ns += base_ns_;
  std::sort(launches_.begin(), launches_.end());
  RankTrace* trace = &ranks_[rank_];
  TakeSteps();
  TakePhases(trace);
  TakeOperators(trace);
  const std::vector<DeviceWork> works = Works();
  PlaceOnDevice(works, &steps_);
  for (const TracedStep& step : steps_) trace->AddStep(step);
  TakeKernels(works, trace);
  TakeCollectives(trace);
  if (steps_.empty()) TellOfNoSteps(works);
  return OkStatus();
}

Status ChromeTraceReader::CheckCut() {
  if (!document_->cut()) return OkStatus();
  const bool unix_times = std::any_of(events_.begin(), events_.end(), [](const Event& event) {
    return event.start_ns >= kFirstUnixTimeNs;
  });
  if (!has_base_ && !unix_times)
    return InvalidArgument(Cat(skipped_.first().back(),
                               ": event times are unknown because baseTimeNanoseconds is missing"));
  if (!has_info_) without_rank_ = path_;
  return OkStatus();
}

void ChromeTraceReader::SkipImpossibleTimes() {
  std::vector<Event> kept;
  absl::flat_hash_map<size_t, std::string> groups;
  for (size_t i = 0; i < events_.size(); ++i) {
    const Event& event = events_[i];
    if (event.start_ns <= kMinPosition || event.end_ns >= kMaxPosition) {
      skipped_.SkipUsed(Cat(path_, ": the times of ", Quote(names_[event.name]),
                            " are out of range (baseTimeNanoseconds ", base_ns_, ")"));
      continue;
    }
    if (const auto group = groups_.find(i); group != groups_.end())
      groups.emplace(kept.size(), group->second);
    kept.push_back(event);
  }
  events_ = std::move(kept);
  groups_ = std::move(groups);
}

void ChromeTraceReader::TakeSteps() {
  for (const Event& event : events_) {
    const std::string_view name = names_[event.name];
    if (!OnHost(event.kind) || !StartsWith(name, kStep)) continue;
    steps_.push_back({event.start_ns, event.end_ns, *ParseInt(name.substr(kStep.size())), "train"});
  }
  std::stable_sort(steps_.begin(), steps_.end(), [](const TracedStep& a, const TracedStep& b) {
    return a.start_ns < b.start_ns;
  });
}

void ChromeTraceReader::TakePhases(RankTrace* trace) const {
  bool forward = false, backward = false;
  for (const Event& event : events_) {
    if (!OnHost(event.kind)) continue;
    const std::string_view phase = AnnotatedPhase(names_[event.name]);
    if (phase.empty()) continue;
    forward |= phase == "forward";
    backward |= phase == "backward";
    trace->AddPhase(phase, event.start_ns, event.end_ns);
  }
  for (const Event& event : events_) {
    if (!OnHost(event.kind)) continue;
    const std::string_view name = names_[event.name];
    if (!forward && name == "DistributedDataParallel.forward")
      trace->AddPhase("forward", event.start_ns, event.end_ns);
    if (!backward && StartsWith(name, kBackward))
      trace->AddPhase("backward", event.start_ns, event.end_ns, kBackwardGap);
    if (CollectiveKind(name)) trace->AddPhase("collective", event.start_ns, event.end_ns);
  }
}

void ChromeTraceReader::TakeOperators(RankTrace* trace) const {
  // Sorted by start time. If two start together, the longer one comes first, so callers precede
  // callees.
  std::vector<const Event*> operators;
  for (const Event& event : events_) {
    const std::string_view name = names_[event.name];
    if (event.kind != Kind::kOperator || StartsWith(name, kStep) || StartsWith(name, kBackward) ||
        !AnnotatedPhase(name).empty())
      continue;
    operators.push_back(&event);
  }
  std::stable_sort(operators.begin(), operators.end(), [](const Event* a, const Event* b) {
    if (a->thread != b->thread) return a->thread < b->thread;
    return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->end_ns > b->end_ns;
  });
  std::vector<int64_t> own(operators.size());
  std::vector<size_t> callers;
  for (size_t i = 0; i < operators.size(); ++i) {
    const Event& event = *operators[i];
    own[i] = event.end_ns - event.start_ns;
    while (!callers.empty() && (operators[callers.back()]->thread != event.thread ||
                                operators[callers.back()]->end_ns <= event.start_ns))
      callers.pop_back();
    if (!callers.empty()) {
      const int64_t end = std::min(event.end_ns, operators[callers.back()]->end_ns);
      own[callers.back()] -= end - event.start_ns;
    }
    callers.push_back(i);
  }
  for (size_t i = 0; i < operators.size(); ++i)
    trace->AddOperator(names_[operators[i]->name], "cpu", operators[i]->start_ns,
                       std::max<int64_t>(own[i], 0));
}

std::vector<DeviceWork> ChromeTraceReader::Works() const {
  absl::flat_hash_map<int64_t, int64_t> operators;  // start times by ID
  for (const Event& event : events_) {
    if (event.kind == Kind::kOperator && event.id > 0) operators.emplace(event.id, event.start_ns);
  }
  std::vector<DeviceWork> works;
  for (const Event& event : events_) {
    if (OnHost(event.kind)) continue;
    DeviceWork work;
    work.interval = {event.start_ns, event.end_ns};
    const std::string& name = names_[event.name];
    if (event.kind == Kind::kCollective || IsCopyBetweenDevices(name) ||
        (event.kind == Kind::kKernel && IsCommunicationKernel(name))) {
      work.kind = DeviceWorkKind::kCommunication;
    } else if (event.kind == Kind::kCopy) {
      work.kind = DeviceWorkKind::kCopy;
    }
    const auto launch =
        std::lower_bound(launches_.begin(), launches_.end(), Launch{event.correlation, INT64_MIN});
    if (launch != launches_.end() && launch->correlation == event.correlation) {
      work.launched_ns = launch->start_ns;
    } else if (const auto caller = operators.find(event.id); caller != operators.end()) {
      work.launched_ns = caller->second;
    }
    works.push_back(work);
  }
  return works;
}

void ChromeTraceReader::TellOfNoSteps(const std::vector<DeviceWork>& works) const {
  const bool nothing = events_.empty();
  PITWALL_LOG(kWarning, "import", path_, ": rank ", rank_,
              ": found no ProfilerStep#N, so there are no steps: ",
              nothing
                  ? "the profiler recorded nothing; with schedule=, export the trace in "
                    "on_trace_ready=, not after the loop"
                  : "rules on the step clock have no data; call prof.step() after each training "
                    "step",
              nothing ? "" : ". Over the whole trace: ", nothing ? "" : Describe(works));
}

void ChromeTraceReader::TakeKernels(const std::vector<DeviceWork>& works, RankTrace* trace) const {
  if (works.empty()) return;
  AddShares(works, steps_, trace);
  absl::flat_hash_map<int64_t, uint32_t> operators;  // names by ID
  for (const Event& event : events_) {
    if (event.kind == Kind::kOperator && event.id > 0) operators.emplace(event.id, event.name);
  }
  auto work = works.begin();
  for (const Event& event : events_) {
    if (OnHost(event.kind)) continue;
    const int64_t step = StepOf(*work++, steps_);
    if (step < 0 || event.kind == Kind::kCopy) continue;
    const auto caller = operators.find(event.id);
    // The operator counts toward the step that requested the work.
    trace->AddOperator(names_[caller == operators.end() ? event.name : caller->second], "gpu",
                       steps_[static_cast<size_t>(step)].start_ns, event.end_ns - event.start_ns);
  }
}

void ChromeTraceReader::TakeCollectives(RankTrace* trace) const {
  int kind = 3;
  for (const Event& event : events_) {
    if (OnHost(event.kind)) kind = std::min(kind, CollectiveKind(names_[event.name]).value_or(3));
  }
  if (kind == 3) return;
  std::map<std::string, std::vector<int64_t>> begun;  // start times by group
  for (size_t i = 0; i < events_.size(); ++i) {
    const Event& event = events_[i];
    if (!OnHost(event.kind)) continue;
    if (CollectiveKind(names_[event.name]) != kind) continue;
    const auto group = groups_.find(i);
    begun[group == groups_.end() ? std::string(kDefaultGroup) : group->second].push_back(
        event.start_ns);
  }
  for (auto& [group, times] : begun) {
    std::sort(times.begin(), times.end());
    for (const TracedStep& step : steps_) {
      const auto until = std::upper_bound(times.begin(), times.end(), step.end_ns);
      steps::LoggedValue value = ValueOf("train_collective_operations_total", step,
                                         static_cast<double>(until - times.begin()));
      value.labels = {{"group", group}};
      trace->AddValue(std::move(value));
    }
  }
}

Status ChromeTraceReader::Finish() {
  if (!without_rank_.empty() && files_ > 1)
    return InvalidArgument(Cat(without_rank_,
                               ": the trace is truncated before distributedInfo, so ",
                               "its rank is unknown; import this file by itself"));
  const auto known = static_cast<int64_t>(ranks_.size());
  for (auto& [rank, trace] : ranks_)
    RETURN_IF_ERROR(trace.Write(rank, std::max(world_size_, known), name_, out_));
  ranks_.clear();
  return OkStatus();
}

}  // namespace pitwall::imports
