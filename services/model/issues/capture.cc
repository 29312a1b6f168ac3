#include "services/model/issues/capture.h"

#include <algorithm>
#include <array>

#include "services/model/issues/enum_names.h"

namespace pitwall {
namespace {

constexpr std::array<std::string_view, 7> kStates = {
    "collective", "loader", "checkpoint", "evaluation", "busy", "blocked", "stopped"};

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Returns the state derived from the main thread's stack. Used because scripts need not declare
// their phases.
std::optional<CaptureState> PlaceOfStack(const CaptureLook& look) {
  if (!look.python || look.threads.empty()) return std::nullopt;
  for (const std::string& frame : look.threads.front().frames) {
    if (Has(frame, "torch/distributed/checkpoint/") || Has(frame, "torch/serialization.py"))
      return CaptureState::kCheckpoint;
    if (Has(frame, "torch/distributed/distributed_c10d.py")) return CaptureState::kCollective;
    if (Has(frame, "torch/utils/data/dataloader.py")) return CaptureState::kLoader;
  }
  return std::nullopt;
}

std::optional<CaptureState> PlaceOf(const CaptureLook& look) {
  if (look.stopped) return CaptureState::kStopped;
  if (look.collective.has_value() || look.phase == "collective") return CaptureState::kCollective;
  if (look.phase == "dataloader") return CaptureState::kLoader;
  if (look.phase == "checkpoint") return CaptureState::kCheckpoint;
  if (const auto place = PlaceOfStack(look); place.has_value()) return place;
  if (look.phase == "eval" || look.mode == "eval") return CaptureState::kEvaluation;
  return std::nullopt;
}

bool SameStacks(const CaptureLook& a, const CaptureLook& b) {
  return std::equal(a.threads.begin(), a.threads.end(), b.threads.begin(), b.threads.end(),
                    [](const CapturedThread& x, const CapturedThread& y) {
                      return x.id == y.id && x.frames == y.frames;
                    });
}

// Observations from different sources are not compared, because an observation by the operating
// system contains only the client's last update.
bool WentOn(const CaptureLook& a, const CaptureLook& b) {
  if (a.python != b.python) return false;
  const uint64_t before = a.collective.has_value() ? a.collective->sequence : 0;
  const uint64_t after = b.collective.has_value() ? b.collective->sequence : 0;
  return a.mode != b.mode || a.step_plus_one != b.step_plus_one ||
         (before != 0 && after != 0 && before != after);
}

}  // namespace

std::string_view CaptureStateName(CaptureState state) {
  return kStates[static_cast<size_t>(state)];
}

std::optional<CaptureState> ParseCaptureState(std::string_view name) {
  return ParseName<CaptureState>(kStates, name);
}

CaptureChange ChangeBetween(const CaptureLook& first, const CaptureLook& second, double seconds) {
  CaptureChange change;
  change.went_on = WentOn(first, second);
  if (seconds > 0)
    change.cpu_share = std::max(0.0, second.cpu_seconds - first.cpu_seconds) / seconds;
  if (first.io_bytes.has_value() && second.io_bytes.has_value())
    change.io_bytes = *second.io_bytes - std::min(*first.io_bytes, *second.io_bytes);
  if (first.python && second.python && !first.threads.empty() && !second.threads.empty())
    change.same_stacks = SameStacks(first, second);
  return change;
}

CaptureState StateOf(const CaptureLook& first, const CaptureLook& second,
                     const CaptureChange& change) {
  const std::optional<CaptureState> before = PlaceOf(first), now = PlaceOf(second);
  if (now == CaptureState::kStopped) return *now;  // regardless of the previous state
  // Evaluations and checkpoints may span several steps.
  const bool keeps = now == CaptureState::kEvaluation || now == CaptureState::kCheckpoint;
  if (now.has_value() && before == now && (keeps || !change.went_on)) return *now;
  const bool moved = change.went_on || change.same_stacks == false ||
                     change.cpu_share >= kBlockedCpuShare ||
                     change.io_bytes.value_or(0) >= kBlockedIoBytes ||
                     (before.has_value() && before != CaptureState::kStopped) || now.has_value();
  return moved ? CaptureState::kBusy : CaptureState::kBlocked;
}

}  // namespace pitwall
