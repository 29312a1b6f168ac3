// Command `pitwall actions list`: prints the executor's decisions and actions from the log.
#include <algorithm>

#include "services/adapters/clock/system_clock.h"
#include "services/app/cli/commands.h"
#include "services/app/cli/topic_reading.h"
#include "services/app/command/flags.h"
#include "services/app/text/action_text.h"
#include "services/base/log.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/io/topics.h"

namespace pitwall {

namespace {

using Kind = FlagSpec::Kind;

struct Listed {
  AppendTime append_time;
  ActionEvent action;
  std::string json;
};

Status ReadActions(Log* log, const Flags& flags, std::vector<Listed>* out) {
  const std::string job = flags.One("job").value_or("");
  const std::string rule = flags.One("rule").value_or("");
  return ReadTopic(log, kActionsTopic, [&](int32_t partition, const Record& record) {
    StatusOr<ActionEvent> action = cloudevents::DecodeActionEvent(record.value);
    if (!action.ok()) {
      PITWALL_LOG(kWarning, "actions", kActionsTopic, "/", partition, " offset ", record.offset,
                  ": ", ToStd(action.status().message()));
      return;
    }
    if ((!job.empty() && action->job != job) || !RuleMatches(rule, action->rule)) return;
    out->push_back({record.append_time, *std::move(action), std::string(record.value)});
  });
}

Status List(const Flags& flags) {
  clock::SystemClock clock;
  ASSIGN_OR_RETURN(const std::unique_ptr<Log> log, OpenLogInput(flags, &clock));
  std::vector<Listed> all;
  RETURN_IF_ERROR(ReadActions(log.get(), flags, &all));
  // Sorts by append time, newest last. The sort is stable, so records with equal times stay in log
  // order.
  std::stable_sort(all.begin(), all.end(),
                   [](const Listed& a, const Listed& b) { return a.append_time < b.append_time; });
  for (const Listed& one : all) {
    flags.Has("json") ? PrintJson(one.json + "\n")
                      : Print(TerminalLine(ActionLine(one.action)) + "\n");
  }
  if (all.empty()) PrintError("no actions: the executor has not made any decisions\n");
  return OkStatus();
}

}  // namespace

Command ActionsCommand() {
  return {
      .name = "actions list",
      .summary = "List the decisions and actions of the executor",
      .usage = {"--data-dir DIR | --brokers HOSTS [options]"},
      .options =
          JoinOptions({LogInputFlags(),
                       {{"job", Kind::kOne, "ID", "print actions of this job only"},
                        {"rule", Kind::kOne, "RULE",
                         "print actions of this rule only (pack/group/alert, or its end: Alert)"},
                        {"json", Kind::kSwitch, "", "print one CloudEvent per line"}}}),
      .examples = {"pitwall actions list --data-dir /var/lib/pitwall",
                   "pitwall actions list --brokers kafka:9092 --rule LossNotFinite --json"},
      .run = [](const Flags& flags) { return ExitCodeOf("actions list", List(flags), kUsage); }};
}

}  // namespace pitwall
