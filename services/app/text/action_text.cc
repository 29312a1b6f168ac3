#include "services/app/text/action_text.h"

#include "absl/time/time.h"
#include "services/base/duration.h"
#include "services/base/text/strings.h"

namespace pitwall {

std::string ActionLine(const ActionEvent& event) {
  const std::string_view what = event.type == ActionEventType::kDecided   ? "DECIDED"
                                : event.type == ActionEventType::kRefused ? "REFUSED"
                                : event.type == ActionEventType::kDone    ? "DONE   "
                                                                          : "REQUEST";
  std::string line =
      Cat(absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixNanos(event.time.ns()),
                           absl::UTCTimeZone()),
          "  ", what, "  ", ActionKindName(event.kind), "  ",
          event.mode == ActionMode::kLive ? "live   " : "dry run", "  job ",
          event.job_name.empty() ? event.job : event.job_name, "  ", event.rule, "  ", event.why);
  if (event.kind == ActionKind::kParameter) CatTo(line, ": ", ChangeText(event.parameter));
  if (!event.principal.empty()) CatTo(line, " (by ", event.principal, ")");
  if (!event.effect.empty()) CatTo(line, "; ", event.effect);
  return line;
}

std::string ExecutorNotice(const ExecutorConfig& config) {
  std::vector<std::string> live;
  for (const PolicyConfig& policy : config.policies) {
    if (policy.mode == "live") live.push_back(policy.rule);
  }
  if (!live.empty() && config.budget > 0) {
    return Cat("live: issues of rules that match ", Join(live, ", "), " stop their jobs, at most ",
               config.budget, " per hour and one per job in ", FormatDuration(config.cool_down_ns),
               "; other rules cause dry runs");
  }
  if (!live.empty())
    return "dry run: executor.budget is 0, so every live action is refused; set it above 0";
  return "dry run: decisions are recorded (pitwall actions list) and no job is stopped; to let a "
         "rule stop its job, add executor.policies: [{rule: \"pack/group/alert\", mode: live}] to "
         "the file of --config";
}

}  // namespace pitwall
