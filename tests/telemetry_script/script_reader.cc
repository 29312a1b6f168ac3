#include "tests/telemetry_script/script_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "services/base/text/strings.h"

namespace pitwall::telemetry_script {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t'; }
bool EndsStatement(char c) { return c == ';' || c == '\n'; }

struct Unit {
  std::string_view name;
  double nanos;
};
constexpr std::array<Unit, 4> kUnits = {{{"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}}};

}  // namespace

Status ScriptReader::ErrorAt(size_t at, std::string_view cause) const {
  const std::string_view before = text_.substr(0, at);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t start = before.rfind('\n') + 1;  // npos + 1 is 0
  return InvalidArgument(Cat("script:", line, ":", at - start + 1, ": ", cause));
}

void ScriptReader::SkipBlanks() {
  while (at_ < text_.size() && IsBlank(text_[at_])) ++at_;
  if (at_ < text_.size() && text_[at_] == '#') at_ = std::min(text_.find('\n', at_), text_.size());
}

bool ScriptReader::NextStatement() {
  SkipBlanks();
  while (at_ < text_.size() && EndsStatement(text_[at_])) {
    ++at_;
    SkipBlanks();
  }
  return at_ < text_.size();
}

bool ScriptReader::AtEndOfStatement() {
  SkipBlanks();
  return at_ == text_.size() || EndsStatement(text_[at_]);
}

bool ScriptReader::AtTime() {
  SkipBlanks();
  return at_ < text_.size() && text_[at_] == '@';
}

bool ScriptReader::Take(char character) {
  SkipBlanks();
  return TakeDirectly(character);
}

bool ScriptReader::TakeDirectly(char character) {
  if (at_ == text_.size() || text_[at_] != character) return false;
  read_at_ = at_++;
  return true;
}

Status ScriptReader::Expect(char character) {
  if (TakeDirectly(character)) return OkStatus();
  return ErrorAt(at_, Cat("expected '", std::string(1, character), "'"));
}

StatusOr<std::string> ScriptReader::Word(std::string_view what, std::string_view stops) {
  SkipBlanks();
  read_at_ = at_;
  while (at_ < text_.size() && !IsBlank(text_[at_]) && !EndsStatement(text_[at_]) &&
         stops.find(text_[at_]) == std::string_view::npos)
    ++at_;
  if (at_ == read_at_) return Error(Cat(what, " is missing"));
  return std::string(text_.substr(read_at_, at_ - read_at_));
}

StatusOr<std::string> ScriptReader::Text(std::string_view what, std::string_view stops) {
  if (!Take('"')) return Word(what, stops);
  std::string out;
  for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
    if (text_[at_] == '\n') break;
    if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
    out += text_[at_];
  }
  if (at_ == text_.size() || text_[at_] != '"') return Error(Cat(what, " has no closing quote"));
  ++at_;
  return out;
}

StatusOr<int64_t> ScriptReader::ParseWhole(std::string_view word, std::string_view what) const {
  const std::optional<int64_t> number = ParseInt(word);
  if (!number.has_value()) return Error(Cat(what, " must be an integer (got ", Quote(word), ")"));
  return *number;
}

StatusOr<int64_t> ScriptReader::Integer(std::string_view what) {
  ASSIGN_OR_RETURN(const std::string word, Word(what, "),"));
  return ParseWhole(word, what);
}

StatusOr<double> ScriptReader::Number(std::string_view what) {
  ASSIGN_OR_RETURN(const std::string word, Word(what));
  const std::optional<double> number = ParseDouble(word);
  if (!number.has_value()) return Error(Cat(what, " must be a number (got ", Quote(word), ")"));
  return *number;
}

StatusOr<int64_t> ScriptReader::ParseTime(std::string_view word, std::string_view what) const {
  for (const Unit& unit : kUnits) {
    if (!EndsWith(word, unit.name)) continue;
    const auto number = ParseDouble(word.substr(0, word.size() - unit.name.size()));
    if (!number.has_value() || !std::isfinite(*number) || std::abs(*number * unit.nanos) > 9e18)
      continue;
    return std::llround(*number * unit.nanos);
  }
  return Error(Cat(what, " must be a duration like 500ms (got ", Quote(word), ")"));
}

StatusOr<int64_t> ScriptReader::Time(std::string_view what) {
  ASSIGN_OR_RETURN(const std::string word, Word(what, ")"));
  return ParseTime(word, what);
}

StatusOr<IntegerRange> ScriptReader::Integers(std::string_view what) {
  ASSIGN_OR_RETURN(const std::string word, Word(what));
  const size_t dots = std::min(word.find(".."), word.size());
  IntegerRange range;
  ASSIGN_OR_RETURN(range.first, ParseWhole(std::string_view(word).substr(0, dots), what));
  range.last = range.first;
  if (dots < word.size()) {
    ASSIGN_OR_RETURN(range.last, ParseWhole(std::string_view(word).substr(dots + 2), what));
  }
  if (range.last < range.first) return Error(Cat(what, " must not decrease (got ", word, ")"));
  return range;
}

StatusOr<IntegerRange> ScriptReader::Times(std::string_view what) {
  ASSIGN_OR_RETURN(const std::string word, Word(what));
  const size_t dots = std::min(word.find(".."), word.size());
  IntegerRange range;
  ASSIGN_OR_RETURN(range.first, ParseTime(std::string_view(word).substr(0, dots), what));
  range.last = range.first;
  if (dots < word.size()) {
    ASSIGN_OR_RETURN(range.last, ParseTime(std::string_view(word).substr(dots + 2), what));
  }
  if (range.last < range.first) return Error(Cat(what, " must not decrease (got ", word, ")"));
  return range;
}

StatusOr<Labels> ScriptReader::LabelSet() {
  RETURN_IF_ERROR(Expect('{'));
  std::vector<Label> labels;
  while (!Take('}')) {
    if (!labels.empty()) RETURN_IF_ERROR(Expect(','));
    ASSIGN_OR_RETURN(std::string name, Word("label name", "=,}"));
    RETURN_IF_ERROR(Expect('='));
    ASSIGN_OR_RETURN(std::string value, Text("label value", ",}"));
    labels.push_back({std::move(name), std::move(value)});
  }
  return Labels::FromPairs(std::move(labels));
}

}  // namespace pitwall::telemetry_script
