#include "rules/lang/printer.h"

#include <cmath>
#include <limits>

#include "rules/lang/lexer.h"
#include "rules/lang/parser_tables.h"
#include "services/base/duration.h"
#include "services/base/text/strings.h"

namespace pitwall::lang {
namespace {

// Returns true for words that parse as numbers unless they are quoted.
bool IsNumberWord(std::string_view name) {
  return IsKeyword(name, "inf") || IsKeyword(name, "nan");
}

std::string PrintDuration(const Duration& duration) {
  if (duration.plain || !IsWholeMillis(duration.nanos)) {
    return FormatDouble(static_cast<double>(duration.nanos) / 1e9);
  }
  return FormatDuration(duration.nanos);
}

std::string PrintLabels(const std::vector<std::string>& labels) {
  std::string out = "(";
  for (size_t i = 0; i < labels.size(); ++i)
    CatTo(out, i > 0 ? ", " : "", PrintLabelName(labels[i]));
  return out + ")";
}

std::string PrintModifiers(const Modifiers& modifiers) {
  std::string out;
  if (modifiers.at) {
    switch (modifiers.at->kind) {
      case AtKind::kTimestamp:
        CatTo(out, " @ ", FormatDouble(modifiers.at->seconds));
        break;
      case AtKind::kStart:
        out += " @ start()";
        break;
      case AtKind::kEnd:
        out += " @ end()";
        break;
    }
  }
  if (modifiers.offset) CatTo(out, " offset ", PrintDuration(*modifiers.offset));
  return out;
}

struct Printer {
  std::string operator()(const NumberExpr& e) const {
    // FormatDouble would print "+Inf", and the sign would apply to the whole expression: +(Inf ^
    // x).
    if (e.value == std::numeric_limits<double>::infinity()) return "Inf";
    if (!e.duration) return FormatDouble(e.value);
    return FormatDuration(static_cast<int64_t>(std::llround(e.value * 1e3)) * 1'000'000);
  }
  std::string operator()(const StringExpr& e) const { return PrintString(e.value); }
  std::string operator()(const ParameterExpr& e) const { return Cat("$", e.name); }

  std::string operator()(const SelectorExpr& e) const {
    const bool plain_name =
        IsPlainMetricName(e.name) && !IsReserved(e.name) && !IsNumberWord(e.name);
    std::string out = plain_name ? e.name : std::string();
    std::vector<std::string> parts;
    if (!e.name.empty() && !plain_name) parts.push_back(PrintString(e.name));
    for (const LabelMatcher& matcher : e.matchers) {
      constexpr std::string_view kOps[] = {"=", "!=", "=~", "!~"};
      parts.push_back(Cat(PrintLabelName(matcher.label), kOps[static_cast<int>(matcher.op)],
                          PrintString(matcher.value)));
    }
    if (!parts.empty() || e.name.empty()) CatTo(out, "{", Join(parts, ","), "}");
    switch (e.window) {
      case WindowSyntax::kNone:
        break;
      case WindowSyntax::kDuration:
        CatTo(out, "[", PrintDuration(e.range), "]");
        break;
      case WindowSyntax::kSamples:
        CatTo(out, "[", e.samples, " samples]");
        break;
      case WindowSyntax::kAttempt:
        out += "[attempt]";
        break;
      case WindowSyntax::kFirst:
        CatTo(out, "[first ", e.samples, " samples");
        if (e.skipped > 0) CatTo(out, " after ", e.skipped);
        out += "]";
        break;
    }
    if (e.anchored) out += " anchored";
    if (e.smoothed) out += " smoothed";
    return out + PrintModifiers(e.modifiers);
  }

  std::string operator()(const SubqueryExpr& e) const {
    return Cat(Print(*e.expr), "[", PrintDuration(e.range), ":",
               e.step ? PrintDuration(*e.step) : std::string(), "]", PrintModifiers(e.modifiers));
  }

  std::string operator()(const UnaryExpr& e) const {
    return Cat(e.negative ? "-" : "+", Print(*e.expr));
  }

  std::string operator()(const BinaryExpr& e) const {
    std::string out = Cat(Print(*e.left), " ", OpText(e.op), e.return_bool ? " bool" : "");
    const VectorMatching& matching = e.matching;
    if (matching.written)
      CatTo(out, matching.on ? " on " : " ignoring ", PrintLabels(matching.labels));
    if (matching.group != GroupSide::kNone) {
      CatTo(out, matching.group == GroupSide::kLeft ? " group_left " : " group_right ",
            PrintLabels(matching.include));
    }
    if (matching.fill_left) CatTo(out, " fill_left (", FormatDouble(*matching.fill_left), ")");
    if (matching.fill_right) CatTo(out, " fill_right (", FormatDouble(*matching.fill_right), ")");
    return Cat(out, " ", Print(*e.right));
  }

  std::string operator()(const AggregateExpr& e) const {
    std::string out(OpText(e.op));
    if (e.grouping != Grouping::kNone) {
      CatTo(out, e.grouping == Grouping::kBy ? " by " : " without ", PrintLabels(e.labels), " ");
    }
    out += "(";
    if (e.parameter != nullptr) CatTo(out, Print(*e.parameter), ", ");
    return Cat(out, Print(*e.expr), ")");
  }

  std::string operator()(const CallExpr& e) const {
    std::string out = Cat(e.function, "(");
    for (size_t i = 0; i < e.arguments.size(); ++i)
      CatTo(out, i > 0 ? ", " : "", Print(*e.arguments[i]));
    return out + ")";
  }

  std::string operator()(const ParenExpr& e) const { return Cat("(", Print(*e.expr), ")"); }
};

}  // namespace

std::string Print(const Expr& expr) { return std::visit(Printer{}, expr.node); }

std::string PrintString(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const size_t bad = yaml::FindInvalidUtf8(text);
    const std::string quoted = Quote(text.substr(0, bad));
    out.append(quoted, 1, quoted.size() - 2);
    if (bad == std::string_view::npos) break;
    CatTo(out, "\\x", Hex(text.substr(bad, 1)));
    text.remove_prefix(bad + 1);
  }
  return out + "\"";
}

std::string PrintLabelName(std::string_view name) {
  return IsPlainLabelName(name) && !IsNumberWord(name) ? std::string(name) : PrintString(name);
}

}  // namespace pitwall::lang
