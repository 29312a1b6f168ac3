// `pitwall actions list`: what the executor decided and did, out of the log.
#include <algorithm>

#include "services/adapters/clock/system_clock.h"
#include "services/base/log.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/io/topics.h"
#include "services/pitwall/action_lines.h"
#include "services/pitwall/commands.h"
#include "services/pitwall/flags.h"
#include "services/pitwall/topic_reading.h"

namespace pitwall {

namespace {

using Kind = FlagSpec::Kind;

const std::vector<FlagSpec>& ActionFlags() {
  static const std::vector<FlagSpec> specs = {
      kLogInputFlags[0],
      kLogInputFlags[1],
      kLogInputFlags[2],
      {"job", Kind::kOne, "ID", "only this job"},
      {"rule", Kind::kOne, "RULE", "only this rule (pack/group/alert, or its end: Alert)"},
      {"json", Kind::kSwitch, "", "CloudEvents, one line each"},
      {"help", Kind::kSwitch, "", "this text"},
  };
  return specs;
}

struct Listed {
  int64_t append_time_ns = 0;
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
    out->push_back({record.append_time_ns, *std::move(action), std::string(record.value)});
  });
}

Status List(const Flags& flags) {
  clock::SystemClock clock;
  ASSIGN_OR_RETURN(const std::unique_ptr<Log> log, OpenLogInput(flags, &clock));
  std::vector<Listed> all;
  RETURN_IF_ERROR(ReadActions(log.get(), flags, &all));
  // Newest last. The order within a partition is that of the log, whatever its clock said.
  std::stable_sort(all.begin(), all.end(), [](const Listed& a, const Listed& b) {
    return a.append_time_ns < b.append_time_ns;
  });
  for (const Listed& one : all) {
    flags.Has("json") ? PrintJson(one.json + "\n")
                      : Print(TerminalLine(ActionLine(one.action)) + "\n");
  }
  if (all.empty()) PrintError("no actions: nothing was decided\n");
  return OkStatus();
}

}  // namespace

int RunActions(const std::vector<std::string>& arguments) {
  const auto flags = Flags::Parse(ActionFlags(), arguments);
  const bool list = flags.ok() && flags->positional() == std::vector<std::string>{"list"};
  const bool help = flags.ok() && flags->Has("help");
  if (help || (flags.ok() && !list)) {
    const std::string text = Cat("pitwall actions list --input DIR | --brokers HOSTS [flags]\n",
                                 FlagHelp(ActionFlags()));
    help ? Print(text) : PrintError(text);
    return help ? kFine : kUsage;
  }
  const Status status = flags.ok() ? List(*flags) : flags.status();
  if (status.ok()) return kFine;
  PrintError(Cat("pitwall actions: ", ToStd(status.message()), "\n"));
  return kUsage;
}

}  // namespace pitwall
