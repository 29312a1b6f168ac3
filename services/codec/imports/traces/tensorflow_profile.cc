#include "services/codec/imports/traces/tensorflow_profile.h"

#include <algorithm>

#include "absl/time/time.h"
#include "services/base/log.h"
#include "services/base/system/files.h"
#include "services/base/text/strings.h"
#include "services/codec/imports/traces/communication_kernels.h"
#include "services/codec/imports/traces/trace_event.h"
#include "services/model/position.h"

namespace pitwall::imports {

namespace {

constexpr std::string_view kXSpace = ".xplane.pb";
constexpr std::string_view kTexts[] = {".trace.json.gz", ".trace.json"};
constexpr size_t kMaxThreads = 1'000'000;

// Returns the known suffix of the file name, or "".
std::string_view SuffixOf(std::string_view file_name) {
  if (EndsWith(file_name, kXSpace)) return kXSpace;
  for (const std::string_view text : kTexts) {
    if (EndsWith(file_name, text)) return text;
  }
  return {};
}

// Parses the start time of a run from the name of its folder.
int64_t TimeOfRun(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return 0;
  const std::string folder = BaseName(std::string(path.substr(0, slash)));
  absl::Time time;
  std::string wrong;
  if (!absl::ParseTime("%Y_%m_%d_%H_%M_%S", folder, &time, &wrong)) return 0;
  const int64_t nanos = absl::ToUnixNanos(time);
  return nanos >= 0 && nanos < kMaxPosition ? nanos : 0;
}

std::string_view ModeOf(std::string_view step) {
  std::string lower;
  for (const char c : step) lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const std::string_view word : {"eval", "test", "val"}) {
    if (lower.find(word) != std::string::npos) return "eval";
  }
  return lower.find("predict") != std::string::npos ? "predict" : "train";
}

bool IsOnDevice(const ProfileEvent& event) { return StartsWith(event.plane, "/device:"); }

bool IsUsed(const ProfileEvent& event) {
  if (!IsOnDevice(event)) return StartsWith(event.plane, "/host:CPU");
  // The other lines of a device repeat the same work by operator, module, or step.
  return StartsWith(event.line, "Stream") ||
         (StartsWith(event.plane, "/device:TPU") && event.line == "XLA Ops");
}

}  // namespace

bool IsTensorflowProfile(std::string_view file_name) {
  const std::string_view suffix = SuffixOf(file_name);
  return !suffix.empty() && file_name.size() > suffix.size();
}

std::string XSpacePathFor(std::string_view path) {
  const std::string_view suffix = SuffixOf(path);
  if (suffix.empty() || suffix == kXSpace) return {};
  path.remove_suffix(suffix.size());
  return Cat(path, kXSpace);
}

Status TensorflowProfileReader::BeginFile(const std::string& path) {
  const std::string file_name = BaseName(path);
  if (!IsTensorflowProfile(file_name))
    return InvalidArgument(Cat(path, ": file name must be HOST.xplane.pb or HOST.trace.json.gz"));
  path_ = path;
  skipped_ = lenient::SkippedRecords("event");
  const std::string_view suffix = SuffixOf(file_name);
  host_ = file_name.substr(0, file_name.size() - suffix.size());
  trace_ = RankTrace();
  xspace_.clear();
  planes_.clear();
  lines_.clear();
  steps_.clear();
  works_.clear();
  work_names_.clear();
  names_.clear();
  name_numbers_.clear();
  document_.reset();
  if (suffix == kXSpace) return OkStatus();
  base_ns_ = TimeOfRun(path);
  document_ = std::make_unique<TraceDocument>(
      path, [this](std::string_view json, uint32_t) { return TakeJson(json); },
      [](std::string_view, std::string_view) { return OkStatus(); },
      [](std::string_view) { return false; }, &skipped_, limits_.trace);
  return OkStatus();
}

Status TensorflowProfileReader::Feed(std::string_view bytes) {
  if (document_ != nullptr) return document_->Feed(bytes);
  if (bytes.size() > limits_.xspace_bytes - xspace_.size())
    return ResourceExhausted(Cat(path_, ": file is longer than ", limits_.xspace_bytes,
                                 " bytes; profile fewer steps at a time"));
  xspace_.append(bytes);
  return OkStatus();
}

Status TensorflowProfileReader::TakeJson(std::string_view json) {
  // TensorFlow ends its list with an empty event.
  if (json == "{}") return OkStatus();
  ASSIGN_OR_RETURN(const std::optional<TraceEvent> read, ReadTraceEvent(json));
  if (!read) return OkStatus();
  if (read->phase == 'M') {
    if (planes_.size() + lines_.size() >= kMaxThreads)
      return ResourceExhausted(Cat("too many threads (limit ", kMaxThreads, ")"));
    if (read->name == "process_name") planes_[read->pid] = read->Arg("name");
    if (read->name == "thread_name") lines_[{read->pid, read->tid}] = read->Arg("name");
    return OkStatus();
  }
  if (read->phase != 'X') return OkStatus();
  ProfileEvent event;
  if (const auto plane = planes_.find(read->pid); plane != planes_.end())
    event.plane = plane->second;
  if (const auto line = lines_.find({read->pid, read->tid}); line != lines_.end())
    event.line = line->second;
  if (!IsUsed(event)) return OkStatus();
  RETURN_IF_ERROR(read->times);
  event.name = read->name;
  event.start_ns = base_ns_ + read->start_ns;
  event.end_ns = event.start_ns + read->duration_ns;
  if (event.start_ns <= kMinPosition || event.end_ns >= kMaxPosition)
    return InvalidArgument(Cat("ts or dur of ", Quote(read->name), " is out of range"));
  event.step = ParseInt(read->Arg("step_num"));
  event.hlo = !read->Arg("hlo_op").empty();
  return Take(event);
}

Status TensorflowProfileReader::Take(const ProfileEvent& event) {
  if (!IsUsed(event)) return OkStatus();
  if (IsOnDevice(event)) {
    TakeDevice(event);
  } else {
    RETURN_IF_ERROR(TakeHost(event));
  }
  return events_ > limits_.trace.events
             ? ResourceExhausted(
                   Cat("too many events in one input (limit ", limits_.trace.events, ")"))
             : OkStatus();
}

Status TensorflowProfileReader::TakeHost(const ProfileEvent& event) {
  if (event.step) {
    if (*event.step < 0 || *event.step > kMaxStep)
      return InvalidArgument(
          Cat(Quote(event.name), ": step_num ", *event.step, " is not a valid step number"));
    ++events_;
    steps_.push_back({event.start_ns, event.end_ns, *event.step, std::string(ModeOf(event.name))});
    trace_.AddStep(steps_.back());
  } else if (event.name.find("IteratorGetNext") != std::string_view::npos) {
    ++events_;
    trace_.AddPhase("dataloader", event.start_ns, event.end_ns);
  } else if (event.hlo) {
    ++events_;
    trace_.AddOperator(event.name, "cpu", event.start_ns, event.end_ns - event.start_ns);
  }
  return OkStatus();
}

void TensorflowProfileReader::TakeDevice(const ProfileEvent& event) {
  ++events_;
  DeviceWork work;
  work.interval = {event.start_ns, event.end_ns};
  if (IsCopyBetweenDevices(event.name) || IsCommunicationKernel(event.name)) {
    work.kind = DeviceWorkKind::kCommunication;
  } else if (StartsWith(event.name, "Memcpy") || StartsWith(event.name, "Memset")) {
    work.kind = DeviceWorkKind::kCopy;
  }
  works_.push_back(work);
  const auto [it, added] =
      name_numbers_.try_emplace(std::string(event.name), static_cast<uint32_t>(names_.size()));
  if (added) names_.emplace_back(event.name);
  work_names_.push_back(it->second);
}

Status TensorflowProfileReader::EndFile() {
  if (document_ != nullptr) {
    RETURN_IF_ERROR(document_->Finish());
  } else {
    RETURN_IF_ERROR(ReadXSpace(path_, xspace_, &skipped_,
                               [this](const ProfileEvent& event) { return Take(event); }));
    xspace_ = std::string();
  }
  RETURN_IF_ERROR(skipped_.Finish(path_));
  std::stable_sort(steps_.begin(), steps_.end(), [](const TracedStep& a, const TracedStep& b) {
    return a.start_ns < b.start_ns;
  });
  AddShares(works_, steps_, &trace_);
  for (size_t i = 0; i < works_.size(); ++i) {
    const int64_t step = StepOf(works_[i], steps_);
    if (step < 0 || works_[i].kind == DeviceWorkKind::kCopy) continue;
    trace_.AddOperator(names_[work_names_[i]], "gpu", steps_[static_cast<size_t>(step)].start_ns,
                       works_[i].interval.end_ns - works_[i].interval.start_ns);
  }
  hosts_[host_].Add(std::move(trace_));
  if (steps_.empty())
    PITWALL_LOG(kWarning, "import", path_,
                ": no event has step_num, so there are no steps; mark steps with ",
                "tf.profiler.experimental.Trace(\"train\", step_num=N, _r=1) or ",
                "jax.profiler.StepTraceAnnotation. Over the whole profile: ", Describe(works_));
  return OkStatus();
}

Status TensorflowProfileReader::Finish() {
  int64_t rank = 0;
  for (auto& [host, trace] : hosts_)
    RETURN_IF_ERROR(trace.Write(rank++, static_cast<int64_t>(hosts_.size()), name_, out_));
  hosts_.clear();
  return OkStatus();
}

}  // namespace pitwall::imports
