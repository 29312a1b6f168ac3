// `pitwall silence add|list|expire`: what receivers are not told of, for a while.
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "services/adapters/clock/system_clock.h"
#include "services/base/duration.h"
#include "services/base/terminal.h"
#include "services/base/text/percent.h"
#include "services/base/text/strings.h"
#include "services/notifier/routing/silence.h"
#include "services/pitwall/commands.h"
#include "services/pitwall/flags.h"
#include "services/pitwall/history_access.h"

namespace pitwall {
namespace {

using Kind = FlagSpec::Kind;
using history_client::Client;
using history_client::Json;

constexpr char kUsageText[] = R"(pitwall silence add MATCHER… --comment WHY [--duration 1h] [flags]
pitwall silence list [--all] [--json] [flags]
pitwall silence expire ID [flags]

While a silence lasts, receivers are not told of the issues that all its matchers match; lists, topics and the page show
them all the same. What is still open when it ends is told then. MATCHER is Prometheus' (severity="warning", job=~"llm-.*"),
over the labels of the issue and severity, job, pitwall_job, owner, rule, pack, alertname. Adding and expiring need the
token of the role act. Exit codes: 0 fine, 1 no answer or refused, 2 usage.

)";

std::vector<FlagSpec> SilenceFlags() {
  std::vector<FlagSpec> specs = {
      {"duration", Kind::kOne, "DURATION", "add: how long it lasts (1h)"},
      {"start", Kind::kOne, "TIME", "add: like 2026-01-02T03:04:05Z, Unix seconds or now (now)"},
      {"end", Kind::kOne, "TIME", "add: instead of --duration"},
      {"author", Kind::kOne, "NAME", "add: who silences (the user's name)"},
      {"comment", Kind::kOne, "TEXT", "add: why"},
      {"all", Kind::kSwitch, "", "list: those that have ended, too"},
  };
  for (const FlagSpec& spec : HistoryFlags()) specs.push_back(spec);
  specs.push_back({"json", Kind::kSwitch, "", "the silence, or the list, as JSON"});
  specs.push_back({"help", Kind::kSwitch, "", "this text"});
  return specs;
}

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
  // Without --start the server says when it is now.
  if (const auto text = flags.One("start")) {
    ASSIGN_OR_RETURN(silence.starts_ns, ReadMoment("start", *text, now));
  }
  if (const auto text = flags.One("end")) {
    if (flags.Has("duration")) return InvalidArgument("--end beside --duration: one is enough");
    ASSIGN_OR_RETURN(silence.ends_ns, ReadMoment("end", *text, now));
  } else {
    const StatusOr<int64_t> duration = ParseDuration(flags.One("duration").value_or("1h"));
    if (!duration.ok()) return Annotate(duration.status(), "--duration");
    silence.ends_ns = (flags.Has("start") ? silence.starts_ns : now) + *duration;
  }
  const char* const user = std::getenv("USER");
  silence.author = flags.One("author").value_or(user == nullptr ? "" : user);
  silence.comment = flags.One("comment").value_or("");
  if (silence.comment.empty()) return InvalidArgument("--comment: missing; say why");
  if (silence.author.empty()) return InvalidArgument("--author: missing; say who silences");
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

// Usage: nothing. Otherwise what came of it.
std::optional<Status> Run(const Flags& flags) {
  const std::vector<std::string>& words = flags.positional();
  if (words.empty()) return std::nullopt;
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  if (words[0] == "add" && !rest.empty()) return Add(rest, flags);
  if (words[0] == "list" && rest.empty()) return List(flags);
  if (words[0] == "expire" && rest.size() == 1) return Expire(rest[0], flags);
  return std::nullopt;
}

}  // namespace

int RunSilence(const std::vector<std::string>& arguments) {
  const std::vector<FlagSpec> specs = SilenceFlags();
  const auto flags = Flags::Parse(specs, arguments);
  if (!flags.ok()) {
    PrintError(Cat("pitwall silence: ", ToStd(flags.status().message()), "\n"));
    return kUsage;
  }
  const std::string text = Cat(kUsageText, FlagHelp(specs));
  if (flags->Has("help")) {
    Print(text);
    return kFine;
  }
  const std::optional<Status> status = Run(*flags);
  if (!status.has_value()) {
    PrintError(text);
    return kUsage;
  }
  if (status->ok()) return kFine;
  PrintError(Cat("pitwall silence: ", ToStd(status->message()), "\n"));
  return absl::IsInvalidArgument(*status) ? kUsage : kCheckFailed;
}

}  // namespace pitwall
