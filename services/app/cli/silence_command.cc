// Commands `pitwall silence add|list|expire`: manage notification silences.
#include <cstdlib>
#include <string>
#include <vector>

#include "services/adapters/clock/system_clock.h"
#include "services/app/cli/commands.h"
#include "services/app/cli/history_access.h"
#include "services/app/command/flags.h"
#include "services/base/duration.h"
#include "services/base/terminal.h"
#include "services/base/text/percent.h"
#include "services/base/text/strings.h"
#include "services/notifier/routing/silence.h"

namespace pitwall {
namespace {

using Kind = FlagSpec::Kind;
using history_client::Client;
using history_client::Json;

constexpr std::string_view kSilenceHelp =
    "While a silence is active, receivers get no notifications of issues that match all its "
    "matchers.\n"
    "Lists, topics, and the page still show these issues. Issues that are still open when the "
    "silence\n"
    "ends are notified then. MATCHER is a matcher of Prometheus (severity=\"warning\", "
    "job=~\"llm-.*\")\n"
    "over the labels of the issue and severity, job, pitwall_job, owner, rule, pack, and "
    "alertname.\n"
    "Requires a token with the role act. Exit codes: 0 success, 1 no reply or refused, 2 usage.\n";

constexpr FlagSpec kJsonOption = {"json", Kind::kSwitch, "", "print one JSON object per silence"};

std::string PathOf() { return Cat(history_client::kRoutes, "/silences"); }

std::string Line(const Json& silence) {
  std::vector<std::string> matchers;
  for (const Json& matcher : silence.at("matchers")) matchers.push_back(matcher.get<std::string>());
  return Cat(silence.at("id").get<std::string>(), "  ",
             silence.at("starts_at").get<std::string>().substr(0, 19), "Z to ",
             silence.at("ends_at").get<std::string>().substr(0, 19), "Z  {", Join(matchers, ", "),
             "}  by ", silence.at("author").get<std::string>(), ": ",
             silence.at("comment").get<std::string>());
}

void Show(const Json& silence, bool json) {
  if (json) {
    PrintJson(Cat(silence.dump(), "\n"));
  } else {
    Print(Cat(TerminalLine(Line(silence)), "\n"));
  }
}

Status Add(const std::vector<std::string>& matchers, const Flags& flags) {
  clock::SystemClock clock;
  const int64_t now = clock.WallNs();
  notifier::Silence silence;
  ASSIGN_OR_RETURN(silence.matchers, notifier::ParseIssueMatchers(matchers));
  // Without --start, the server uses its current time as the start.
  if (const auto text = flags.One("start")) {
    ASSIGN_OR_RETURN(silence.starts_ns, ReadMoment("start", *text, now));
  }
  if (const auto text = flags.One("end")) {
    if (flags.Has("duration"))
      return InvalidArgument("--end: cannot be combined with --duration; specify only one of them");
    ASSIGN_OR_RETURN(silence.ends_ns, ReadMoment("end", *text, now));
  } else {
    const StatusOr<int64_t> duration = ParseDuration(flags.One("duration").value_or("1h"));
    if (!duration.ok()) return Annotate(duration.status(), "--duration");
    silence.ends_ns = (flags.Has("start") ? silence.starts_ns : now) + *duration;
  }
  const char* const user = std::getenv("USER");
  silence.author = flags.One("author").value_or(user == nullptr ? "" : user);
  silence.comment = flags.One("comment").value_or("");
  if (silence.comment.empty())
    return InvalidArgument("--comment: value is missing; specify --comment TEXT");
  if (silence.author.empty())
    return InvalidArgument("--author: value is missing; specify --author NAME");
  return WithHistory(flags, [&](const Client& client) -> Status {
    ASSIGN_OR_RETURN(const Json made, client.Post(PathOf(), notifier::EncodeSilence(silence)));
    Show(made, flags.Has("json"));
    return OkStatus();
  });
}

Status List(const Flags& flags) {
  return WithHistory(flags, [&](const Client& client) -> Status {
    history_client::Parameters parameters;
    if (flags.Has("all")) parameters.emplace_back("ended", "true");
    ASSIGN_OR_RETURN(const Json answer, client.Get(PathOf(), parameters));
    for (const Json& silence : answer.at("silences")) Show(silence, flags.Has("json"));
    return OkStatus();
  });
}

Status Expire(const std::string& id, const Flags& flags) {
  return WithHistory(flags, [&](const Client& client) -> Status {
    ASSIGN_OR_RETURN(const Json ended,
                     client.Call("DELETE", Cat(PathOf(), "/", PercentEncoded(id)), {}));
    Show(ended, flags.Has("json"));
    return OkStatus();
  });
}

Command AddCommand() {
  return {
      .name = "silence add",
      .summary = "Silence the notifications of matching issues for a while",
      .usage = {"MATCHER… --comment TEXT [--duration DURATION] [options]"},
      .details = kSilenceHelp,
      .min_arguments = 1,
      .max_arguments = kAnyNumber,
      .options = JoinOptions(
          {{{"comment", Kind::kOne, "TEXT", "reason for the silence (required)"},
            {"author", Kind::kOne, "NAME", "author of the silence (default: the name of the user)"},
            {"duration", Kind::kOne, "DURATION", "duration of the silence", "1h"},
            {"start", Kind::kOne, "TIME", "start, like 2026-01-02T03:04:05Z, Unix seconds, or now",
             "now"},
            {"end", Kind::kOne, "TIME", "end, instead of --duration"},
            kJsonOption},
           HistoryFlags()}),
      .examples = {"pitwall silence add 'severity=\"warning\"' 'job=~\"llm-.*\"' --duration 2h "
                   "--comment 'maintenance' --token-file act"},
      .run = [](const Flags& flags) {
        return ExitCodeOf("silence add", Add(flags.positional(), flags));
      }};
}

Command ListCommand() {
  return {
      .name = "silence list",
      .summary = "List active silences",
      .usage = {"[options]"},
      .options = JoinOptions(
          {{{"all", Kind::kSwitch, "", "include ended silences"}, kJsonOption}, HistoryFlags()}),
      .examples = {"pitwall silence list", "pitwall silence list --all --json"},
      .run = [](const Flags& flags) { return ExitCodeOf("silence list", List(flags)); }};
}

Command ExpireCommand() {
  return {.name = "silence expire",
          .summary = "End a silence now",
          .usage = {"ID [options]"},
          .details = "`pitwall silence list` prints the IDs. Requires a token with the role act.\n",
          .min_arguments = 1,
          .max_arguments = 1,
          .options = JoinOptions({{kJsonOption}, HistoryFlags()}),
          .examples = {"pitwall silence expire 3f2a --token-file act"},
          .run = [](const Flags& flags) {
            return ExitCodeOf("silence expire", Expire(flags.positional()[0], flags));
          }};
}

}  // namespace

std::vector<Command> SilenceCommands() { return {AddCommand(), ListCommand(), ExpireCommand()}; }

}  // namespace pitwall
