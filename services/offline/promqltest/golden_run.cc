#include "services/offline/promqltest/golden_run.h"

#include <algorithm>
#include <map>

#include "services/base/duration.h"
#include "services/base/system/files.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/offline/promqltest/golden_compare.h"
#include "services/offline/promqltest/golden_samples.h"
#include "services/offline/query.h"

namespace pitwall::offline {

namespace {

constexpr int64_t kMinute = 60'000'000'000;

// Returns true for expressions whose values differ between range queries and instant queries.
bool DependsOnRange(std::string_view expr) {
  for (const std::string_view call : {"start()", "end()", "range()", "step()"}) {
    if (expr.find(call) != std::string_view::npos) return true;
  }
  return false;
}

// Returns the first line of an error without the position, for grouping identical errors.
std::string Reason(const Status& status) {
  std::string_view text = ToStd(status.message());
  text = text.substr(0, text.find('\n'));
  constexpr std::string_view kMark = ": error: ";
  if (const size_t mark = text.find(kMark); mark != std::string_view::npos)
    text.remove_prefix(mark + kMark.size());
  return std::string(text);
}

EvalOutcome Passed() { return {}; }
EvalOutcome Unsupported(std::string_view why) {
  return {Verdict::kUnsupported, std::string(why), {}, {}};
}
EvalOutcome Failed(const EvalCommand& eval, std::string_view why, std::vector<std::string> got) {
  return {Verdict::kFailed, std::string(why), ExpectedLines(eval), std::move(got)};
}
std::vector<std::string> ErrorLines(const Status& status) {
  return {Cat("an error: ", ToStd(status.message()))};
}

Query ToQuery(const EvalCommand& eval) {
  Query query;
  query.expr = eval.expr;
  query.start = eval.start;
  query.end = eval.end;
  if (eval.range) query.step = eval.step;
  return query;
}

// Runs the query. A string result of a range query is an error.
StatusOr<QueryAnswer> Ask(const GoldenSamples& samples, const Query& query, bool range) {
  auto answer = RunQuery(samples.series(), query);
  if (range && answer.ok() && answer->type == QueryType::kString) {
    return InvalidArgument(
        "invalid expression type \"string\" for range query, must be Scalar or instant Vector");
  }
  return answer;
}

EvalOutcome JudgeError(const EvalCommand& eval, const Status& status) {
  if (status.code() == absl::StatusCode::kUnimplemented) return Unsupported(Reason(status));
  if (!eval.fail) return Failed(eval, "the query fails", ErrorLines(status));
  if (status.code() != absl::StatusCode::kInvalidArgument)
    return Failed(eval, "the query fails with an error other than InvalidArgument",
                  ErrorLines(status));
  const std::string wrong = CompareFailure(eval, ToStd(status.message()));
  return wrong.empty() ? Passed() : Failed(eval, wrong, ErrorLines(status));
}

EvalOutcome JudgeAnswer(const EvalCommand& eval, const QueryAnswer& answer) {
  if (answer.type == QueryType::kString) {
    const std::vector<std::string> got{Quote(answer.text)};
    if (eval.fail) return Failed(eval, "the query does not fail", got);
    if (!eval.text.has_value()) return Failed(eval, "the result is a string", got);
    return *eval.text == answer.text ? Passed() : Failed(eval, "the string differs", got);
  }
  if (eval.range) {
    const std::string wrong = eval.fail   ? "the query does not fail"
                              : eval.text ? "the result is not a string"
                                          : CompareRange(eval, answer);
    return wrong.empty() ? Passed() : Failed(eval, wrong, RangeLines(answer));
  }
  if (answer.ticks.size() != 1)
    return Failed(eval, Cat("the result has ", answer.ticks.size(), " ticks"), RangeLines(answer));
  const std::vector<QueryElement>& elements = answer.ticks[0].elements;
  const std::string wrong = eval.fail   ? "the query does not fail"
                            : eval.text ? "the result is not a string"
                                        : CompareInstant(eval, answer.type, elements, eval.ordered);
  return wrong.empty() ? Passed() : Failed(eval, wrong, InstantLines(answer.type, elements));
}

// Re-evaluates an instant eval as the middle tick of a range query with three ticks.
EvalOutcome JudgeMiddleTick(const EvalCommand& eval, const GoldenSamples& samples) {
  Query query = ToQuery(eval);
  query.start -= kMinute;
  query.end += kMinute;
  query.step = kMinute;
  const std::string where =
      Cat("passes as an instant query, but fails as the middle tick of a range query from ",
          FormatDuration(query.start), " to ", FormatDuration(query.end), " step 1m: ");
  const auto answer = Ask(samples, query, true);
  if (!answer.ok()) {
    EvalOutcome outcome = JudgeError(eval, answer.status());
    if (outcome.verdict == Verdict::kFailed) outcome.why = Cat(where, outcome.why);
    return outcome;
  }
  if (answer->ticks.size() != 3) {
    return Failed(eval, Cat(where, "the result has ", answer->ticks.size(), " ticks"),
                  RangeLines(*answer));
  }
  const std::vector<QueryElement>& elements = answer->ticks[1].elements;
  const std::string wrong = CompareInstant(eval, answer->type, elements, false);
  if (wrong.empty()) return Passed();
  return Failed(eval, Cat(where, wrong), InstantLines(answer->type, elements));
}

EvalOutcome Judge(const EvalCommand& eval, const GoldenSamples& samples) {
  const GoldenSamples::Touched touched = samples.TouchedBy(eval.expr);
  if (touched.native_histograms) return Unsupported("reads native histograms");
  for (const GoldenSeries& series : eval.series) {
    if (series.HasHistogram()) return Unsupported("expects native histograms");
  }
  if (eval.range_vector) return Unsupported("expects a range vector");
  const auto answer = Ask(samples, ToQuery(eval), eval.range);
  EvalOutcome outcome =
      answer.ok() ? JudgeAnswer(eval, *answer) : JudgeError(eval, answer.status());
  const bool again = answer.ok() && answer->type != QueryType::kString && !eval.range &&
                     !eval.ordered && !DependsOnRange(eval.expr);
  if (outcome.verdict == Verdict::kPassed && again) outcome = JudgeMiddleTick(eval, samples);
  if (outcome.verdict == Verdict::kFailed && touched.start_timestamps)
    return Unsupported("reads start timestamps");
  return outcome;
}

std::string Describe(const std::vector<std::string>& lines) {
  return lines.empty() ? std::string("    nothing\n") : Cat("    ", Join(lines, "\n    "), "\n");
}

std::string Title(const EvalCommand& eval) {
  if (!eval.range) return Cat(eval.expr, " at ", FormatDuration(eval.start));
  return Cat(eval.expr, " from ", FormatDuration(eval.start), " to ", FormatDuration(eval.end),
             " step ", FormatDuration(eval.step));
}

}  // namespace

Status RunGoldenScript(
    std::string_view file, std::string_view text,
    const std::function<void(const GoldenCommand&, const EvalOutcome&)>& report) {
  ASSIGN_OR_RETURN(const std::vector<GoldenCommand> commands, ParseGoldenScript(file, text));
  GoldenSamples samples;
  for (const GoldenCommand& command : commands) {
    if (const auto* load = std::get_if<LoadCommand>(&command.what)) {
      if (const Status status = samples.Load(*load); !status.ok())
        return InvalidArgument(Cat(file, ":", ToStd(status.message())));
    } else if (const auto* eval = std::get_if<EvalCommand>(&command.what)) {
      report(command, Judge(*eval, samples));
    } else {
      samples.Clear();
    }
  }
  return OkStatus();
}

StatusOr<int> RunGolden(const std::vector<std::string>& files, const GoldenOptions& options) {
  if (files.empty()) return InvalidArgument("no script given; specify at least one FILE");
  int64_t passed = 0;
  int64_t failed = 0;
  int64_t unsupported = 0;
  std::map<std::string, int64_t> reasons;
  bool readable = true;
  for (const std::string& path : files) {
    const auto report = [&](const GoldenCommand& command, const EvalOutcome& outcome) {
      const auto& eval = std::get<EvalCommand>(command.what);
      const std::string place = Cat(path, ":", command.line, ": ");
      switch (outcome.verdict) {
        case Verdict::kPassed:
          ++passed;
          break;
        case Verdict::kFailed:
          ++failed;
          Print(Cat(place, Title(eval), ": ", outcome.why, "\n  expected:\n",
                    Describe(outcome.expected), "  got:\n", Describe(outcome.got)));
          break;
        case Verdict::kUnsupported:
          ++unsupported;
          ++reasons[outcome.why];
          if (options.verbose) {
            Print(Cat(place, Title(eval), ": unsupported: ", outcome.why, "\n"));
          }
          break;
      }
    };
    const auto text = ReadFile(path);
    const int64_t before = passed + failed + unsupported;
    const Status status = text.ok() ? RunGoldenScript(path, *text, report) : Status(text.status());
    if (status.ok() && passed + failed + unsupported == before)
      PrintError(Cat(path, ": warning: script does not contain an eval\n"));
    if (status.ok()) continue;
    PrintError(Cat(ToStd(status.message()), "\n"));
    readable = false;
  }
  std::vector<std::pair<int64_t, std::string>> by_count;
  for (const auto& [reason, count] : reasons) by_count.emplace_back(-count, reason);
  std::sort(by_count.begin(), by_count.end());
  for (const auto& [count, reason] : by_count)
    PrintError(Cat("unsupported: ", -count, ": ", reason, "\n"));
  Print(Cat(passed, " passed, ", failed, " failed, ", unsupported, " unsupported\n"));
  return !readable ? 2 : failed == 0 ? 0 : 1;
}

}  // namespace pitwall::offline
