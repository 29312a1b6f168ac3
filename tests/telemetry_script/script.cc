#include "tests/telemetry_script/script.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "services/base/text/strings.h"
#include "tests/telemetry_script/script_reader.h"

namespace pitwall::telemetry_script {
namespace {

constexpr std::string_view kForeignPrefix = "foreign:";
constexpr std::string_view kRankPrefix = "rank-";
constexpr std::string_view kOwner = "owner";
constexpr int64_t kMaxSources = 1000;   // of one range
constexpr int64_t kMaxTimes = 1 << 20;  // of one statement

// Parser of one script. Each function reads one part of a statement into `out_`.
class Parser {
 public:
  explicit Parser(std::string_view text) : in_(text) {}

  StatusOr<std::vector<Statement>> Parse() {
    std::vector<Statement> statements;
    while (in_.NextStatement()) {
      out_ = Statement();
      RETURN_IF_ERROR(ParseStatement());
      statements.push_back(std::move(out_));
    }
    return statements;
  }

 private:
  Status ParseStatement() {
    RETURN_IF_ERROR(ParseSources());
    if (!out_.sources.empty() && in_.TakeDirectly('(')) RETURN_IF_ERROR(ParseProperties());
    RETURN_IF_ERROR(out_.sources.empty() ? ParseOwnerAction() : ParseAction());
    if (in_.Take('@')) RETURN_IF_ERROR(ParseTimes());
    while (!in_.AtEndOfStatement()) RETURN_IF_ERROR(ParseModifier());
    return FinishTimes();
  }

  Status ParseSources() {
    do {
      ASSIGN_OR_RETURN(const std::string word, in_.Word("source", "(,"));
      if (out_.sources.empty() && word == kOwner) return OkStatus();
      RETURN_IF_ERROR(AddSources(word));
    } while (in_.TakeDirectly(','));
    return OkStatus();
  }

  // Adds one source, or the sources of a range such as rank-0..3.
  Status AddSources(const std::string& word) {
    const size_t dots = word.find("..");
    if (dots == std::string::npos) return AddSource(word);
    size_t number = dots;
    while (number > 0 && absl::ascii_isdigit(word[number - 1])) --number;
    const auto first = ParseInt(word.substr(number, dots - number));
    const auto last = ParseInt(word.substr(dots + 2));
    if (!first.has_value() || !last.has_value() || *last < *first || *last - *first >= kMaxSources)
      return in_.Error(Cat("source must be a range like rank-0..3 (got ", Quote(word), ")"));
    for (int64_t i = *first; i <= *last; ++i)
      RETURN_IF_ERROR(AddSource(Cat(word.substr(0, number), i)));
    return OkStatus();
  }

  Status AddSource(std::string_view id) {
    SourceName name;
    if (const size_t slash = id.find('/'); slash != std::string_view::npos) {
      name.job = id.substr(0, slash);
      id.remove_prefix(slash + 1);
    }
    if (StartsWith(id, kForeignPrefix)) {
      name.kind = SourceKind::kForeign;
      id.remove_prefix(kForeignPrefix.size());
    }
    const size_t at = std::min(id.find('@'), id.size());
    if (at < id.size()) name.node = id.substr(at + 1);
    if (name.kind != SourceKind::kForeign && StartsWith(id, kRankPrefix)) {
      const auto rank = ParseInt(id.substr(kRankPrefix.size(), at - kRankPrefix.size()));
      if (!rank.has_value() || *rank < 0)
        return in_.Error(Cat("rank must be a number (got ", Quote(id), ")"));
      name.kind = SourceKind::kRank;
      name.rank = *rank;
    }
    if (id.empty()) return in_.Error("source has no name");
    name.id = id;
    out_.sources.push_back(std::move(name));
    return OkStatus();
  }

  Status ParseProperties() {
    do {
      ASSIGN_OR_RETURN(const std::string name, in_.Word("property", "=)"));
      const Status unknown = in_.Error(Cat(
          "property must be boot, start, attempt, node, owner, declared_owner, modes, clock_error, "
          "or labels (got ",
          Quote(name), ")"));
      RETURN_IF_ERROR(in_.Expect('='));
      RETURN_IF_ERROR(ParseProperty(name, unknown));
    } while (!in_.Take(')'));
    return OkStatus();
  }

  Status ParseProperty(std::string_view name, const Status& unknown) {
    SourceChange& change = out_.change;
    if (name == "start") return ParseStart();
    if (name == "attempt") {
      ASSIGN_OR_RETURN(const int64_t attempt, in_.Integer("attempt"));
      if (attempt < 0) return in_.Error(Cat("attempt must not be negative (got ", attempt, ")"));
      change.attempt = static_cast<uint64_t>(attempt);
    } else if (name == "clock_error") {
      ASSIGN_OR_RETURN(change.clock_error_ns, in_.Time("clock error"));
    } else if (name == "labels") {
      ASSIGN_OR_RETURN(change.labels, in_.LabelSet());
    } else {
      ASSIGN_OR_RETURN(std::string value, in_.Text(name, ")"));
      if (name == "boot") {
        change.boot = std::move(value);
      } else if (name == "node") {
        change.node = std::move(value);
      } else if (name == "owner" || name == "declared_owner") {
        change.owner = std::move(value);
        change.owner_declared = name != "owner";
      } else if (name == "modes") {
        change.modes.emplace();
        for (const std::string_view mode : Split(value, ',')) change.modes->emplace_back(mode);
      } else {
        return unknown;
      }
    }
    return OkStatus();
  }

  // Reads a duration after the script's zero, or unix:<nanoseconds>.
  Status ParseStart() {
    constexpr std::string_view kUnix = "unix:";
    ASSIGN_OR_RETURN(const std::string word, in_.Word("start", ")"));
    if (StartsWith(word, kUnix)) {
      out_.change.start_unix_ns = ParseInt(std::string_view(word).substr(kUnix.size()));
      if (out_.change.start_unix_ns.has_value()) return OkStatus();
      return in_.Error(Cat("start must be a duration or unix:<nanoseconds> (got ", word, ")"));
    }
    ASSIGN_OR_RETURN(out_.change.start_ns, in_.ParseTime(word, "start"));
    return OkStatus();
  }

  Status ParseOwnerAction() {
    ASSIGN_OR_RETURN(const std::string verb, in_.Word("action"));
    if (verb == "ticks") {
      out_.action = Action::kTick;
      if (AtArgument()) {
        ASSIGN_OR_RETURN(out_.count, in_.Integer("number of ticks"));
        if (out_.count < 1 || out_.count > kMaxTimes)
          return in_.Error(
              Cat("number of ticks must be 1 to ", kMaxTimes, " (got ", out_.count, ")"));
      }
    } else if (verb == "starts") {
      out_.action = Action::kFirstTick;
    } else if (verb == "loads") {
      out_.action = Action::kLoadRules;
      ASSIGN_OR_RETURN(out_.rules, in_.Word("hash of the rule set"));
    } else {
      return in_.Error(
          Cat("action of the owner must be ticks, starts, or loads (got ", Quote(verb), ")"));
    }
    return OkStatus();
  }

  Status ParseAction() {
    ASSIGN_OR_RETURN(const std::string verb, in_.Word("action"));
    if (verb == "steps") return ParseSteps();
    if (verb == "sends") {
      out_.action = Action::kSend;
      RETURN_IF_ERROR(ParseValues());
      return out_.values.empty() ? in_.Error("sends needs a value like m=1") : OkStatus();
    }
    if (verb == "beats" || verb == "goodbye") {
      out_.action = verb == "beats" ? Action::kBeat : Action::kGoodbye;
      return OkStatus();
    }
    out_.action = Action::kEvent;
    JobEvent& event = out_.event;
    if (verb == "starts") {
      event.kind = JobEvent::Kind::kStarted;
    } else if (verb == "ends") {
      event.kind = JobEvent::Kind::kEnded;
      ASSIGN_OR_RETURN(event.reason, in_.Word("reason"));
    } else if (verb == "notice") {
      event.kind = JobEvent::Kind::kNotice;
      ASSIGN_OR_RETURN(event.reason, in_.Word("reason"));
    } else if (verb == "lost") {
      event.kind = JobEvent::Kind::kRankLost;
    } else if (verb == "launcher-gone") {
      event.kind = JobEvent::Kind::kLauncherGone;
    } else {
      return in_.Error(
          Cat("action must be steps, sends, beats, goodbye, starts, ends, notice, lost, "
              "or launcher-gone (got ",
              Quote(verb), ")"));
    }
    while (AtArgument()) RETURN_IF_ERROR(ParseEventField());
    return OkStatus();
  }

  Status ParseSteps() {
    out_.action = Action::kStep;
    ASSIGN_OR_RETURN(const IntegerRange steps, in_.Integers("steps"));
    if (steps.last - steps.first >= kMaxTimes)
      return in_.Error(Cat("one statement has at most ", kMaxTimes, " steps"));
    out_.first_step = steps.first;
    last_step_ = steps.last;
    return ParseValues();
  }

  // Reads values up to the time or the end. For steps, `of MODE` may precede them.
  Status ParseValues() {
    while (AtArgument()) {
      ASSIGN_OR_RETURN(std::string metric, in_.Word("series", "{="));
      if (metric == "of" && out_.action == Action::kStep && out_.values.empty()) {
        ASSIGN_OR_RETURN(out_.mode, in_.Word("mode"));
        continue;
      }
      SeriesValue value{.metric = std::move(metric)};
      if (in_.AtLabels()) {
        ASSIGN_OR_RETURN(value.labels, in_.LabelSet());
      }
      RETURN_IF_ERROR(in_.Expect('='));
      ASSIGN_OR_RETURN(value.value, in_.Number("value"));
      out_.values.push_back(std::move(value));
    }
    return OkStatus();
  }

  // Reads name=value: a field of a lost rank, the series that a notice hides, or a label.
  Status ParseEventField() {
    JobEvent& event = out_.event;
    ASSIGN_OR_RETURN(std::string name, in_.Word("field", "="));
    const Status unknown =
        in_.Error(Cat("field must be signal, exit_code, oom_killed, reported, or exception (got ",
                      Quote(name), ")"));
    RETURN_IF_ERROR(in_.Expect('='));
    if (event.kind != JobEvent::Kind::kRankLost) {
      ASSIGN_OR_RETURN(std::string value, in_.Text("value"));
      if (event.kind == JobEvent::Kind::kNotice && name == "hides") {
        for (const std::string_view series : Split(value, ',')) event.series.emplace_back(series);
      } else {
        event.labels.push_back({std::move(name), std::move(value)});
      }
      return OkStatus();
    }
    if (name == "exception") {
      ASSIGN_OR_RETURN(event.rank_lost.exception, in_.Text("exception"));
      return OkStatus();
    }
    if (name != "signal" && name != "exit_code" && name != "oom_killed" && name != "reported")
      return unknown;
    ASSIGN_OR_RETURN(const int64_t number, in_.Integer(name));
    if (name == "signal") event.rank_lost.signal = static_cast<int32_t>(number);
    if (name == "exit_code") event.rank_lost.exit_code = static_cast<int32_t>(number);
    if (name == "oom_killed") event.rank_lost.oom_killed = number != 0;
    if (name == "reported" && number != 0) event.reason = "failed";
    return OkStatus();
  }

  Status ParseTimes() {
    ASSIGN_OR_RETURN(const IntegerRange times, in_.Times("time"));
    out_.first_ns = times.first;
    out_.last_ns = times.last;
    if (times.last == times.first) return OkStatus();
    if (out_.action == Action::kStep)
      return in_.Error("steps need only the time of the first step");
    if (out_.action != Action::kSend && out_.action != Action::kBeat &&
        out_.action != Action::kTick)
      return in_.Error("this action happens at one time");
    return OkStatus();
  }

  Status ParseModifier() {
    ASSIGN_OR_RETURN(const std::string word, in_.Word("modifier"));
    if (word == "every") {
      ASSIGN_OR_RETURN(out_.every_ns, in_.Time("interval"));
      if (out_.every_ns <= 0) return in_.Error("interval must be positive");
    } else if (word == "late") {
      ASSIGN_OR_RETURN(out_.late_ns, in_.Time("delay"));
    } else if (word == "arrives") {
      ASSIGN_OR_RETURN(out_.arrival_ns, in_.Time("arrival"));
    } else if (word == "again") {
      ASSIGN_OR_RETURN(out_.again_ns, in_.Time("arrival of the duplicate"));
    } else if (word == "promise") {
      ASSIGN_OR_RETURN(out_.promise_ns, in_.Time("promise"));
    } else if (word == "batch") {
      ASSIGN_OR_RETURN(out_.batch, in_.Integer("rows per batch"));
      if (out_.batch < 1) return in_.Error("rows per batch must be positive");
    } else if (word == "without-schema") {
      out_.with_schema = false;
    } else {
      return in_.Error(
          Cat("modifier must be every, late, arrives, again, promise, batch, or "
              "without-schema (got ",
              Quote(word), ")"));
    }
    return OkStatus();
  }

  Status FinishTimes() {
    if (out_.action == Action::kStep)
      out_.last_ns = out_.first_ns + (last_step_ - out_.first_step) * out_.every_ns;
    if ((out_.last_ns - out_.first_ns) / out_.every_ns >= kMaxTimes)
      return in_.Error(Cat("one statement has at most ", kMaxTimes, " times"));
    return OkStatus();
  }

  bool AtArgument() { return !in_.AtEndOfStatement() && !in_.AtTime(); }

  ScriptReader in_;
  Statement out_;
  int64_t last_step_ = 0;
};

}  // namespace

StatusOr<std::vector<Statement>> ParseScript(std::string_view text) { return Parser(text).Parse(); }

}  // namespace pitwall::telemetry_script
