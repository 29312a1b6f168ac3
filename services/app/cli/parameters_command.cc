// Commands `pitwall jobs parameters` and `pitwall jobs parameter`: show and change rule parameters
// for one job.
#include <memory>
#include <string>
#include <vector>

#include "services/adapters/clock/system_clock.h"
#include "services/app/cli/history/job_text.h"
#include "services/app/cli/history_access.h"
#include "services/app/cli/topic_reading.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"

namespace pitwall {
namespace {

using history_client::Client;
using history_client::FieldText;
using history_client::Json;
using history_client::kRoutes;

constexpr int64_t kTimeoutNs = 30 * kNanosPerSecond;
constexpr int64_t kPollNs = kNanosPerSecond / 4;

// Returns the reply to a request, or "" if the reply has not arrived yet.
StatusOr<std::string> AnswerTo(const Client& client, const std::string& job,
                               const std::string& request) {
  ASSIGN_OR_RETURN(const Json answer, client.Get(Cat(kRoutes, "/actions"), {{"job", job}}));
  for (const Json& event : answer.at("actions")) {
    if (FieldText(event.at("data"), "issue") != request) continue;
    if (FieldText(event, "type") != ActionEventTypeName(ActionEventType::kRequested))
      return event.dump();
  }
  return std::string();
}

// Prints one parameter as a line of text or as JSON.
void PrintParameter(const std::string& rule, const Json& one, bool json) {
  if (json) {
    Json line = {{"rule", rule}};
    line.update(one);
    return PrintJson(line.dump() + "\n");
  }
  const std::string source = FieldText(one, "source");
  const std::string from = source == "set"         ? "set by a user"
                           : source == "overrides" ? "overrides file"
                                                   : "rule";
  std::string text =
      Cat(rule, "  ", FieldText(one, "name"), " = ", FieldText(one, "now"), "  (", from);
  if (source != "rule") CatTo(text, "; default ", FieldText(one, "default"));
  Print(TerminalLine(Cat(text, ")")) + "\n");
}

}  // namespace

Status ListHistoryParameters(const std::string& job, const Flags& flags) {
  return WithHistory(flags, [&](const Client& client) -> Status {
    const std::string wanted = flags.One("rule").value_or("");
    ASSIGN_OR_RETURN(const Json answer, client.Get(Cat(kRoutes, "/rules"), {{"job", job}}));
    size_t count = 0;
    for (const Json& rule : answer.at("rules")) {
      const std::string name = FieldText(rule, "rule");
      if (!RuleMatches(wanted, name) || rule.at("definition").is_null()) continue;
      for (const Json& one : rule.at("definition").at("parameters")) {
        PrintParameter(name, one, flags.Has("json"));
        ++count;
      }
    }
    if (count == 0) PrintError("no parameters: no rule with parameters has run on the job yet\n");
    return OkStatus();
  });
}

Status SetHistoryParameter(const std::vector<std::string>& arguments, const Flags& flags) {
  const auto reason = flags.One("reason");
  if (!reason.has_value())
    return InvalidArgument("--reason: value is missing; specify --reason TEXT");
  return WithHistory(flags, [&](const Client& client) -> Status {
    const std::string& job = arguments[0];
    ASSIGN_OR_RETURN(const Json asked, client.Call("POST", Cat(kRoutes, "/job/parameter"),
                                                   {{"job", job},
                                                    {"rule", arguments[1]},
                                                    {"parameter", arguments[2]},
                                                    {"value", arguments[3]},
                                                    {"reason", *reason}}));
    const std::string request = FieldText(asked, "request");
    clock::SystemClock clock;
    const std::unique_ptr<Wakeup> pause = clock.NewWakeup();
    const int64_t deadline = clock.MonotonicNs() + kTimeoutNs;
    std::string text;
    while (text.empty() && clock.MonotonicNs() < deadline) {
      pause->Wait(kPollNs);
      ASSIGN_OR_RETURN(text, AnswerTo(client, job, request));
    }
    if (text.empty())
      return Unavailable(Cat(
          "request ", request,
          ": no processor replied within 30s; check `pitwall actions list` or the web page for the "
          "reply"));
    if (flags.Has("json")) PrintJson(text + "\n");
    ASSIGN_OR_RETURN(const ActionEvent answer, cloudevents::DecodeActionEvent(text));
    if (answer.type == ActionEventType::kRefused)
      return FailedPrecondition(Cat("request ", request, ": refused (", answer.why, ")"));
    if (!flags.Has("json"))
      Print(TerminalLine(Cat(ChangeText(answer.parameter), ", ", answer.effect)) + "\n");
    return OkStatus();
  });
}

}  // namespace pitwall
