#include "services/collector/ranks/rank_verdict.h"

namespace pitwall::collector {
namespace {

constexpr int32_t kInterrupt = 2;
constexpr int32_t kTerminate = 15;
constexpr int32_t kShellOffset = 128;

bool IsKnown(const ProcessEnd& end) {
  return end.signal.has_value() || end.exit_code.has_value() || end.oom_killed;
}

bool IsSuccess(const ProcessEnd& end) {
  return end.exit_code == 0 && !end.signal.has_value() && !end.oom_killed;
}

// Returns true for SIGINT, SIGTERM, and the exit codes that shells and signal handlers derive from
// them.
bool IsInterrupt(const ProcessEnd& end) {
  const int32_t signal = end.signal.value_or(end.exit_code.value_or(0) - kShellOffset);
  return !end.oom_killed && (signal == kInterrupt || signal == kTerminate);
}

RankVerdict Orderly(std::string reason) {
  return {
      .kind = RankVerdict::Kind::kOrderly, .reason = std::move(reason), .exception = "", .end = {}};
}

RankVerdict Died(const ProcessEnd& end) {
  return {.kind = RankVerdict::Kind::kDied, .reason = "", .exception = "", .end = end};
}

}  // namespace

RankVerdict JudgeEnd(const Farewell* farewell, const ProcessEnd& end,
                     std::optional<bool> loop_open) {
  if (farewell == nullptr) {
    return IsSuccess(end) && loop_open != true ? Orderly("completed") : Died(end);
  }
  ProcessEnd known = end;
  if (!IsKnown(end)) known.exit_code = farewell->exit_status;
  const bool with_exception = !farewell->exception.empty();
  // After os._exit, only the status reported by the client is reliable.
  if (farewell->exiting && farewell->reason.empty() && IsKnown(known) &&
      (IsSuccess(known) || !with_exception)) {
    return IsSuccess(known) && loop_open != true ? Orderly("completed") : Died(known);
  }
  const bool failed =
      farewell->reason == "failed" || (!IsKnown(known) && farewell->exiting && with_exception);
  const RankVerdict failure{.kind = RankVerdict::Kind::kFailed,
                            .reason = "failed",
                            .exception = farewell->exception,
                            .end = known};
  if (!IsKnown(known)) return failed ? failure : Orderly(farewell->reason);
  if (IsSuccess(known)) {
    // The client reported a failure at exit, but the program handled the exception.
    const bool handled = failed && farewell->exiting && !with_exception;
    if (failed && !handled) return failure;
    return Orderly(handled || farewell->reason.empty() ? "completed" : farewell->reason);
  }
  if (farewell->reason == "cancelled" && IsInterrupt(known)) return Orderly(farewell->reason);
  return failure;
}

}  // namespace pitwall::collector
