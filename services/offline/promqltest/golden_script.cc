#include "services/offline/promqltest/golden_script.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <utility>

#include "rules/lang/unquote.h"
#include "services/base/duration.h"
#include "services/base/text/strings.h"
#include "services/base/yaml/file_text.h"
#include "services/model/matcher.h"

namespace pitwall::offline {

namespace {

constexpr std::string_view kRangeVector = "expect range vector";
constexpr std::string_view kString = "expect string";

// Removes the first word and the surrounding blanks from `rest`, and returns the word.
std::string_view NextWord(std::string_view* rest) {
  *rest = Trim(*rest);
  const size_t end = std::min(rest->find_first_of(" \t"), rest->size());
  const std::string_view word = rest->substr(0, end);
  *rest = Trim(rest->substr(end));
  return word;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// Parses a number in the syntax of Go's ParseInt (including prefixes) or ParseFloat.
std::optional<double> ParseNumber(std::string_view text) {
  std::string_view digits = text;
  const bool negative = StartsWith(digits, "-");
  if (negative || StartsWith(digits, "+")) digits.remove_prefix(1);
  const std::string prefix = Lower(digits.substr(0, 2));
  const int base = prefix == "0x" ? 16 : prefix == "0b" ? 2 : prefix == "0o" ? 8 : 10;
  if (base == 10) return ParseDouble(text);
  digits.remove_prefix(2);
  uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return negative ? -static_cast<double>(value) : static_cast<double>(value);
}

StatusOr<int64_t> ParseTime(std::string_view text, std::string_view what) {
  constexpr double kMaxSeconds = 9e9;
  if (const auto seconds = ParseDouble(text)) {
    if (*seconds >= 0 && *seconds <= kMaxSeconds) return static_cast<int64_t>(*seconds * 1e9);
  } else if (const auto duration = ParseDuration(text); duration.ok()) {
    return *duration;
  }
  return InvalidArgument(Cat(what, " ", Quote(text), " must be a duration or a number of seconds"));
}

class ScriptParser {
 public:
  ScriptParser(std::string_view file, std::string_view text) : file_(file) {
    for (const std::string_view raw : Split(text, '\n')) {
      const std::string_view line = Trim(raw);
      lines_.push_back(StartsWith(line, "#") ? std::string_view() : line);
    }
  }

  StatusOr<std::vector<GoldenCommand>> Parse() {
    std::vector<GoldenCommand> commands;
    while (at_ < lines_.size()) {
      if (lines_[at_].empty()) {
        ++at_;
        continue;
      }
      GoldenCommand command{static_cast<int>(at_) + 1, {}};
      if (Status status = ParseCommand(&command); !status.ok()) {
        return InvalidArgument(Cat(file_, ":", Number(), ": ", ToStd(status.message())));
      }
      commands.push_back(std::move(command));
    }
    return commands;
  }

 private:
  // Returns the number of the current line, or the number of the last line at the end of the
  // script.
  int Number() const { return static_cast<int>(std::min(at_, lines_.size() - 1)) + 1; }

  // Advances to the next line of the block. An empty line or a comment ends the block.
  bool NextLine() {
    ++at_;
    return at_ < lines_.size() && !lines_[at_].empty();
  }

  Status ParseCommand(GoldenCommand* command) {
    std::string_view rest = lines_[at_];
    const std::string word = Lower(NextWord(&rest));
    if (word == "clear") {
      ++at_;
      return OkStatus();
    }
    if (word == "load" || word == "load_with_nhcb") {
      return ParseLoad(rest, word != "load", &command->what.emplace<LoadCommand>());
    }
    const std::string mode = word == "eval" ? "" : StartsWith(word, "eval_") ? word.substr(5) : "?";
    if (mode.empty() || mode == "fail" || mode == "warn" || mode == "info" || mode == "ordered") {
      EvalCommand& eval = command->what.emplace<EvalCommand>();
      eval.fail = mode == "fail";
      eval.ordered = mode == "ordered";
      return ParseEval(rest, &eval);
    }
    return InvalidArgument(
        Cat(Quote(lines_[at_]),
            " is not a command; valid commands are load, load_with_nhcb, clear, and eval"));
  }

  Status ParseLoad(std::string_view rest, bool native_histograms, LoadCommand* load) {
    load->native_histograms = native_histograms;
    ASSIGN_OR_RETURN(load->step, ParseTime(rest, "the step"));
    std::optional<GoldenSeries> starts;
    while (NextLine()) {
      if (IsStartTimestampLine(lines_[at_])) {
        if (starts.has_value())
          return InvalidArgument("start timestamps must be followed by a series");
        ASSIGN_OR_RETURN(starts, ParseStartTimestamps(lines_[at_]));
        continue;
      }
      ASSIGN_OR_RETURN(GoldenSeries series, ParseGoldenSeries(lines_[at_]));
      series.line = Number();
      if (starts.has_value()) {
        if (starts->labels != series.labels)
          return InvalidArgument("the preceding start timestamps belong to another series");
        if (starts->points.size() != series.points.size())
          return InvalidArgument(Cat("there are ", starts->points.size(), " start timestamps for ",
                                     series.points.size(), " points"));
        series.start_timestamps = true;
        starts.reset();
      }
      Put(std::move(series), &load->series);
    }
    if (starts.has_value()) return InvalidArgument("start timestamps must be followed by a series");
    return OkStatus();
  }

  // If several series have equal labels, only the last one is kept.
  static void Put(GoldenSeries series, std::vector<GoldenSeries>* list) {
    const auto same = std::find_if(list->begin(), list->end(), [&](const GoldenSeries& other) {
      return other.labels == series.labels;
    });
    if (same != list->end()) list->erase(same);
    list->push_back(std::move(series));
  }

  Status ParseEval(std::string_view rest, EvalCommand* eval) {
    const std::string kind = Lower(NextWord(&rest));
    const auto time_after = [&](std::string_view word, std::string_view what, int64_t* time) {
      if (Lower(NextWord(&rest)) != word) return InvalidArgument(Cat(Quote(word), " is missing"));
      ASSIGN_OR_RETURN(*time, ParseTime(NextWord(&rest), what));
      return OkStatus();
    };
    if (kind == "instant") {
      RETURN_IF_ERROR(time_after("at", "the time", &eval->start));
      eval->end = eval->start;
    } else if (kind == "range") {
      eval->range = true;
      RETURN_IF_ERROR(time_after("from", "the start", &eval->start));
      RETURN_IF_ERROR(time_after("to", "the end", &eval->end));
      RETURN_IF_ERROR(time_after("step", "the step", &eval->step));
      if (eval->end < eval->start) return InvalidArgument("the end must not be before the start");
      if (eval->step == 0) return InvalidArgument("the step must be greater than 0");
    } else {
      return InvalidArgument(
          "eval must be 'instant at TIME EXPR' or 'range from START to END step STEP EXPR'");
    }
    eval->expr = std::string(rest);
    if (eval->expr.empty()) return InvalidArgument("expression is missing");
    bool more = true;
    while (more && NextLine()) RETURN_IF_ERROR(ParseExpectation(lines_[at_], eval, &more));
    if (!more) ++at_;
    return OkStatus();
  }

  // Parses one line of the expected result. Sets `more` to false if this line ends the block.
  Status ParseExpectation(std::string_view line, EvalCommand* eval, bool* more) {
    constexpr std::string_view kMessage = "expected_fail_message";
    constexpr std::string_view kPattern = "expected_fail_regexp";
    if (eval->fail && StartsWith(line, kMessage)) {
      eval->message = std::string(Trim(line.substr(kMessage.size())));
      *more = false;
      return OkStatus();
    }
    if (eval->fail && StartsWith(line, kPattern)) {
      *more = false;
      return SetPattern(Trim(line.substr(kPattern.size())), eval);
    }
    if (StartsWith(line, kRangeVector))
      return ParseRangeVector(line.substr(kRangeVector.size()), eval);
    if (StartsWith(line, kString)) return ParseText(Trim(line.substr(kString.size())), eval);
    std::string_view rest = line;
    // A metric named `expect` must be written as expect{} to distinguish it from the keyword.
    if (NextWord(&rest) == "expect") return ParseExpect(rest, eval);
    if (const auto number = ParseNumber(line)) {
      eval->scalar = *number;
      *more = false;
      return OkStatus();
    }
    ASSIGN_OR_RETURN(GoldenSeries series, ParseGoldenSeries(line));
    series.line = Number();
    if (!eval->range && !eval->range_vector && series.points.size() != 1) {
      return InvalidArgument(
          Cat("each series in an instant query result must have exactly one value (got ",
              series.points.size(), ")"));
    }
    Put(std::move(series), &eval->series);
    return OkStatus();
  }

  Status ParseExpect(std::string_view rest, EvalCommand* eval) {
    const std::string_view type = NextWord(&rest);
    if (type != "ordered" && type != "fail" && type != "warn" && type != "no_warn" &&
        type != "info" && type != "no_info") {
      return InvalidArgument(Cat(Quote(type),
                                 " is not a valid expectation; valid ones are ordered, fail, warn, "
                                 "no_warn, info, no_info, string, and range vector"));
    }
    const bool words = StartsWith(rest, "msg:");
    const bool pattern = StartsWith(rest, "regex:");
    if (!rest.empty() && !words && !pattern)
      return InvalidArgument(Cat(Quote(rest), " must be msg: or regex:"));
    const std::string_view what = rest.empty() ? rest : Trim(rest.substr(rest.find(':') + 1));
    if (!rest.empty() && what.empty()) return InvalidArgument(Cat("text is missing after ", rest));
    if (type == "ordered") eval->ordered = true;
    if (type != "fail") return OkStatus();
    if (eval->fail)
      return InvalidArgument("an expected failure must not be specified more than once");
    eval->fail = true;
    if (words) eval->message = std::string(what);
    if (pattern) return SetPattern(what, eval);
    return OkStatus();
  }

  static Status SetPattern(std::string_view pattern, EvalCommand* eval) {
    RETURN_IF_ERROR(Matcher::Make("", MatchOp::kRegex, pattern).status());
    eval->pattern = std::string(pattern);
    return OkStatus();
  }

  static Status ParseText(std::string_view literal, EvalCommand* eval) {
    std::string value, error;
    size_t error_at = 0;
    const size_t length = lang::Unquote(literal, &value, &error_at, &error);
    if (length == 0 || length != literal.size())
      return InvalidArgument(Cat(literal, ": must be a quoted string after ", kString));
    eval->text = std::move(value);
    return OkStatus();
  }

  static Status ParseRangeVector(std::string_view rest, EvalCommand* eval) {
    for (const std::string_view word : {"from", "to", "step"}) {
      if (NextWord(&rest) != word) return InvalidArgument(Cat(Quote(word), " is missing"));
      RETURN_IF_ERROR(ParseTime(NextWord(&rest), word).status());
    }
    if (!rest.empty()) return InvalidArgument(Cat("unexpected text after the step: ", Quote(rest)));
    eval->range_vector = true;
    return OkStatus();
  }

  std::string file_;
  std::vector<std::string_view> lines_;
  size_t at_ = 0;
};

}  // namespace

StatusOr<std::vector<GoldenCommand>> ParseGoldenScript(std::string_view file,
                                                       std::string_view text) {
  if (const size_t bad = yaml::FindInvalidUtf8(text); bad != std::string_view::npos) {
    const auto line =
        1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(bad), '\n');
    return InvalidArgument(Cat(file, ":", line, ": script is not valid UTF-8"));
  }
  return ScriptParser(file, text).Parse();
}

}  // namespace pitwall::offline
