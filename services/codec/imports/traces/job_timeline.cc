#include "services/codec/imports/traces/job_timeline.h"

#include <algorithm>
#include <tuple>

#include "services/base/system/files.h"
#include "services/base/text/strings.h"
#include "services/model/position.h"

namespace pitwall::imports {

namespace {

constexpr std::string_view kSuffixes[] = {"_pythontimeline.json", "_model_timeline.json",
                                          "_horovod_timeline.json",
                                          "_smdataparallel_timeline.json"};
constexpr size_t kFirstOfCollectives = 2;  // from here on, only collectives
constexpr std::string_view kStep = "Step:ModeKeys.";
constexpr int64_t kSecond = 1'000'000'000;
constexpr size_t kMaxNesting = 10'000;
constexpr size_t kMaxTracks = 100'000;

// Returns the phase of a track, or "".
std::string_view PhaseOf(std::string_view track) {
  if (track == "Forward" || track == "aws_marker-ForwardPass") return "forward";
  if (track == "Backward" || track == "Backward(post-forward)" ||
      track == "aws_marker-ComputeGradient")
    return "backward";
  if (track == "aws_marker-ApplyGradient") return "optimizer";
  if (track == "DataLoaderIter" || track == "DataIterator") return "dataloader";
  return {};
}

// Returns the device on which the track's operators run, or "".
std::string_view DeviceOf(std::string_view track) {
  if (track == "cpu_functions" || StartsWith(track, "/host:CPU") ||
      StartsWith(track, "/device:CPU"))
    return "cpu";
  if (StartsWith(track, "gpu_functions") || StartsWith(track, "/device:GPU")) return "gpu";
  return {};
}

// Recognizes collectives from Horovod, SMDataParallel, and TensorFlow's NcclManager (kAllReduce).
bool IsCollective(std::string_view name) {
  std::string event;
  for (const char c : name) event += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  for (const std::string_view op :
       {"ALLREDUCE", "ALLGATHER", "BROADCAST", "ALLTOALL", "REDUCESCATTER"}) {
    if (event.find(op) != std::string_view::npos) return true;
  }
  return false;
}

struct FileName {
  int64_t pid = 0;
  std::string node;
  bool collectives = false;  // the file has only collectives
};
// Parses <end in microseconds>_<pid>-<node>_<suffix>. The framework's own writer omits the node:
// <end>_<number>_<suffix>. Such a file belongs to the job's first rank.
std::optional<FileName> ReadFileName(std::string_view name) {
  for (const std::string_view suffix : kSuffixes) {
    if (!EndsWith(name, suffix)) continue;
    name.remove_suffix(suffix.size());
    const size_t line = name.find('_');
    if (line == std::string_view::npos || !ParseInt(name.substr(0, line))) return std::nullopt;
    name.remove_prefix(line + 1);
    const size_t dash = name.find('-');
    const auto pid = ParseInt(name.substr(0, dash));
    if (!pid) return std::nullopt;
    const bool collectives = std::find(std::begin(kSuffixes) + kFirstOfCollectives,
                                       std::end(kSuffixes), suffix) != std::end(kSuffixes);
    return FileName{*pid, std::string(dash == std::string_view::npos ? "" : name.substr(dash + 1)),
                    collectives};
  }
  return std::nullopt;
}

// Returns 10 for "algo-10".
int64_t NodeNumber(std::string_view node) {
  const size_t dash = node.rfind('-');
  const auto number =
      dash == std::string_view::npos ? std::nullopt : ParseInt(node.substr(dash + 1));
  return number.value_or(INT64_MAX);
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

}  // namespace

bool IsJobTimeline(std::string_view file_name) { return ReadFileName(file_name).has_value(); }

Status JobTimelineReader::BeginFile(const std::string& path) {
  const auto name = ReadFileName(BaseName(path));
  if (!name)
    return InvalidArgument(
        Cat(path, ": file name must be <end>_<pid>-<node>_pythontimeline.json, or end in ",
            "_model_timeline.json, _horovod_timeline.json, or _smdataparallel_timeline.json; the ",
            "node is optional"));
  process_ = {NodeNumber(name->node), name->node, name->pid};
  traced_ = Traced();
  collectives_ = name->collectives;
  start_ns_.reset();
  tracks_.clear();
  skipped_ = lenient::SkippedRecords("event");
  document_ = std::make_unique<TraceDocument>(
      path, [this](std::string_view json, uint32_t) { return Take(json); },
      [](std::string_view, std::string_view) { return OkStatus(); },
      [](std::string_view) { return false; }, &skipped_, limits_);
  return OkStatus();
}

Status JobTimelineReader::TakeMetadata(const TraceEvent& event) {
  if (event.name != "process_name") return OkStatus();
  if (const std::string_view start = event.Arg("start_time_since_epoch_in_micros");
      !start.empty()) {
    start_ns_.reset();  // an invalid start makes the following events unusable
    const auto micros = ParseDouble(start);
    if (!micros || !(*micros >= 0 && *micros < static_cast<double>(kMaxPosition / 1000)))
      return InvalidArgument(
          Cat("start_time_since_epoch_in_micros ", Quote(start), " is not a time"));
    start_ns_ = static_cast<int64_t>(*micros) * 1000;
  }
  if (const std::string_view phase = event.Arg("name"); !phase.empty()) {
    tracks_[event.pid].phase = phase;
    if (tracks_.size() > kMaxTracks)
      return ResourceExhausted(Cat("too many phases (limit ", kMaxTracks, ")"));
  }
  return OkStatus();
}

Status JobTimelineReader::Take(std::string_view json) {
  ASSIGN_OR_RETURN(std::optional<TraceEvent> event, ReadTraceEvent(json));
  if (!event) return OkStatus();
  if (event->phase == 'M') return TakeMetadata(*event);
  if (!start_ns_)
    return InvalidArgument(
        "event precedes start_time_since_epoch_in_micros, so its time is unknown");
  if (event->phase == 'X') RETURN_IF_ERROR(event->times);
  const int64_t at_ns = *start_ns_ + event->start_ns;
  if (at_ns <= kMinPosition || at_ns + event->duration_ns >= kMaxPosition - kSecond)
    return InvalidArgument("ts or dur is out of range");
  if (++events_ > limits_.events)
    return ResourceExhausted(Cat("too many events in one input (limit ", limits_.events, ")"));
  if (tracks_.size() > kMaxTracks)
    return ResourceExhausted(Cat("too many phases (limit ", kMaxTracks, ")"));
  Track& track = tracks_[event->pid];
  if (event->phase == 'X') return TakeSpan(track, *event, at_ns, at_ns + event->duration_ns);
  if (event->phase == 'B') {
    if (track.begun.size() >= kMaxNesting)
      return ResourceExhausted(Cat("too many events without an end (limit ", kMaxNesting, ")"));
    const Status times = event->times;
    track.begun.push_back(*std::move(event));
    return times;
  }
  if (track.begun.empty()) return OkStatus();  // the event started in the previous file
  const TraceEvent begun = std::move(track.begun.back());
  track.begun.pop_back();
  RETURN_IF_ERROR(event->times);
  if (!begun.times.ok()) return OkStatus();  // already skipped at its start
  const int64_t begun_ns = *start_ns_ + begun.start_ns;
  if (at_ns < begun_ns) return InvalidArgument("event ends before it begins");
  return TakeSpan(track, begun, begun_ns, at_ns);
}

Status JobTimelineReader::TakeSpan(const Track& track, const TraceEvent& event, int64_t start_ns,
                                   int64_t end_ns) {
  const std::string_view phase = track.phase.empty() ? event.name : track.phase;
  RankTrace& trace = traced_.trace;
  if (StartsWith(phase, kStep))
    return TakeStep(event, phase.substr(kStep.size()), start_ns, end_ns);
  if (collectives_ || phase == "NcclManager") {
    if (IsCollective(event.name)) trace.AddPhase("collective", start_ns, end_ns);
    return OkStatus();
  }
  if (const std::string_view ours = PhaseOf(phase); !ours.empty()) {
    trace.AddPhase(ours, start_ns, end_ns);
  } else if (const std::string_view device = DeviceOf(phase); !device.empty()) {
    trace.AddOperator(event.name, device, start_ns, end_ns - start_ns);
  } else if (phase == "DataLoaderIterInitialize") {
    if (const auto workers = ParseDouble(event.Arg("num_workers")))
      traced_.AddValue("train_loader_workers_configured", *workers, end_ns);
    const std::string pinned = LowerCase(event.Arg("pin_memory"));
    if (!pinned.empty())
      traced_.AddValue("train_loader_pin_memory", pinned == "1" || pinned == "true" ? 1 : 0,
                       end_ns);
  } else if (phase == "DataLoaderWorker") {
    std::string_view pid = event.Arg("pid");
    if (pid.empty()) pid = event.Arg("worker_id");
    traced_.workers.insert({FloorTo(start_ns, kSecond), std::string(pid)});
  }
  return OkStatus();
}

Status JobTimelineReader::TakeStep(const TraceEvent& event, std::string_view mode, int64_t start_ns,
                                   int64_t end_ns) {
  const std::string_view number = event.Arg("step_num");
  const auto step = ParseInt(number);
  if (!step || *step < 0 || *step > kMaxStep)
    return InvalidArgument(Cat("step_num ", Quote(number), " is not a valid step number"));
  if (mode.empty()) return InvalidArgument("step has no mode");
  traced_.trace.AddStep({start_ns, end_ns, *step, LowerCase(mode)});
  return OkStatus();
}

void JobTimelineReader::Traced::AddValue(std::string_view metric, double value, int64_t time_ns) {
  steps::LoggedValue logged;
  logged.metric = metric;
  logged.value = value;
  logged.time_ns = time_ns;
  trace.AddValue(std::move(logged));
}

void JobTimelineReader::Traced::Add(Traced other) {
  trace.Add(std::move(other.trace));
  workers.merge(other.workers);
}

Status JobTimelineReader::EndFile() {
  // The end of an open event is in the next file, or missing.
  RETURN_IF_ERROR(document_->Finish());
  RETURN_IF_ERROR(skipped_.Finish(document_->name()));
  processes_[process_].Add(std::move(traced_));
  return OkStatus();
}

Status JobTimelineReader::Finish() {
  // Processes with steps are ranks. Other processes join the first rank of their node.
  std::vector<Traced*> ranks;
  std::vector<std::pair<Traced*, Traced*>> joined;
  std::vector<Traced*> homeless;  // without a node and without steps
  for (auto it = processes_.begin(); it != processes_.end();) {
    const std::string& node = std::get<1>(it->first);
    std::vector<Traced*> with, without;
    for (; it != processes_.end() && std::get<1>(it->first) == node; ++it)
      (it->second.trace.steps().empty() ? without : with).push_back(&it->second);
    if (with.empty() && node.empty()) {
      homeless.insert(homeless.end(), without.begin(), without.end());
      continue;
    }
    if (with.empty()) {
      with.push_back(without.front());
      without.erase(without.begin());
    }
    for (Traced* other : without) joined.emplace_back(with.front(), other);
    ranks.insert(ranks.end(), with.begin(), with.end());
  }
  if (ranks.empty() && !homeless.empty()) {
    ranks.push_back(homeless.front());
    homeless.erase(homeless.begin());
  }
  for (Traced* other : homeless) joined.emplace_back(ranks.front(), other);
  for (const auto& [rank, other] : joined) rank->Add(std::move(*other));
  for (size_t i = 0; i < ranks.size(); ++i) {
    Traced& rank = *ranks[i];
    rank.trace.SortSteps();
    for (auto it = rank.workers.begin(); it != rank.workers.end();) {
      const int64_t second = it->second;
      size_t workers = 0;
      for (; it != rank.workers.end() && it->second == second; ++it) ++workers;
      rank.AddValue("train_loader_workers", static_cast<double>(workers), second + kSecond);
    }
    RETURN_IF_ERROR(
        rank.trace.Write(static_cast<int64_t>(i), static_cast<int64_t>(ranks.size()), name_, out_));
  }
  processes_.clear();
  return OkStatus();
}

}  // namespace pitwall::imports
