#include "rules/lang/parser.h"

#include <gtest/gtest.h>

#include "rules/lang/printer.h"
#include "services/base/text/strings.h"

namespace pitwall::lang {
namespace {

std::string Failure(std::string_view text) {
  const Source source("e", std::string(text));
  Diagnostics diagnostics;
  const ExprPtr expr = ParseExpr(source, &diagnostics);
  EXPECT_EQ(expr == nullptr, diagnostics.HasErrors()) << text;
  return expr != nullptr ? Cat("(parsed as ", Print(*expr), ")") : diagnostics.list()[0].ToString();
}

ExprPtr Parse(std::string_view text) {
  const Source source("e", std::string(text));
  Diagnostics diagnostics;
  ExprPtr expr = ParseExpr(source, &diagnostics);
  EXPECT_NE(expr, nullptr) << diagnostics.ToString();
  return expr;
}

// Prints the tree with parentheses around every subexpression.
std::string Shape(const Expr& expr) {
  if (const auto* binary = expr.As<BinaryExpr>()) {
    return Cat("(", Shape(*binary->left), " ", OpText(binary->op), " ", Shape(*binary->right), ")");
  }
  if (const auto* unary = expr.As<UnaryExpr>())
    return Cat(unary->negative ? "(-" : "(+", Shape(*unary->expr), ")");
  if (const auto* paren = expr.As<ParenExpr>()) return Shape(*paren->expr);
  return Print(expr);
}

TEST(Parser, AppliesPrecedenceAndAssociativity) {
  const std::pair<std::string_view, std::string_view> kCases[] = {
      {"a + b * c", "(a + (b * c))"},
      {"a * b + c", "((a * b) + c)"},
      {"a - b - c", "((a - b) - c)"},
      {"a / b / c", "((a / b) / c)"},
      {"a % b * c", "((a % b) * c)"},
      {"a atan2 b * c", "((a atan2 b) * c)"},
      {"a ^ b ^ c", "(a ^ (b ^ c))"},
      {"a * b ^ c", "(a * (b ^ c))"},
      {"-a ^ b", "(-(a ^ b))"},
      {"-1 ^ 2", "(-(1 ^ 2))"},
      {"-a * b", "((-a) * b)"},
      {"-a + b", "((-a) + b)"},
      {"a ^ -b", "(a ^ (-b))"},
      {"a ^ -b * c", "((a ^ (-b)) * c)"},
      {"- - a", "(-(-a))"},
      {"-+a", "(-(+a))"},
      {"a > b + c", "(a > (b + c))"},
      {"a > b == c", "((a > b) == c)"},
      {"a == b > c", "((a == b) > c)"},
      {"a and b or c", "((a and b) or c)"},
      {"a or b and c", "(a or (b and c))"},
      {"a unless b and c", "((a unless b) and c)"},
      {"a and b unless c or d", "(((a and b) unless c) or d)"},
      {"a > 1 and b < 2", "((a > 1) and (b < 2))"},
      {"a + b offset 5m", "(a + b offset 5m)"},
      {"-a offset 5m", "(-a offset 5m)"},
      {"a AND b Or c UNLESS d", "((a and b) or (c unless d))"},
      {"2 ^ 3 ^ 2 * 4 - 1", "(((2 ^ (3 ^ 2)) * 4) - 1)"},
      {"a </ b + c", "(a </ (b + c))"},
      {"and + or * by", "(and + (or * by))"},
  };
  for (const auto& [text, shape] : kCases) {
    const ExprPtr expr = Parse(text);
    ASSERT_NE(expr, nullptr);
    EXPECT_EQ(Shape(*expr), shape) << text;
  }
}

TEST(Parser, ParsesNumbers) {
  const std::pair<std::string_view, double> kCases[] = {
      {"1", 1},
      {"1.5", 1.5},
      {".5", 0.5},
      {"5.", 5},
      {"1e3", 1000},
      {"1E-3", 0.001},
      {"1e+3", 1000},
      {"0x1F", 31},
      {"0X_1f", 31},
      {"017", 15},
      {"08", 8},
      {"1_000", 1000},
      {"-2", -2},
      {"--2", 2},
      {"+2", 2},
      {"1h30m", 5400},
      {"5ms", 0.005},
      {"-1m", -60},
      {"1d", 86400},
      {"1w2d", 777600},
      {"0xe", 14},
      {"1y", 31536000},
      {"0x_d", 13},
      {"9223372036854775807", 9.223372036854775807e18},
      {"18446744073709551616", 1.8446744073709552e19},
  };
  for (const auto& [text, value] : kCases) {
    const ExprPtr expr = Parse(text);
    ASSERT_NE(expr, nullptr);
    const auto* number = expr->As<NumberExpr>();
    ASSERT_NE(number, nullptr) << text;
    EXPECT_DOUBLE_EQ(number->value, value) << text;
  }
  EXPECT_TRUE(std::isnan(Parse("NaN")->As<NumberExpr>()->value));
  EXPECT_TRUE(std::isinf(Parse("iNf")->As<NumberExpr>()->value));
  EXPECT_LT(Parse("-Inf")->As<NumberExpr>()->value, 0);
  EXPECT_TRUE(Parse("1h30m")->As<NumberExpr>()->duration);
}

TEST(Parser, ParsesStrings) {
  const std::pair<std::string_view, std::string_view> kCases[] = {
      {R"("a\n\t\\\"b")", "a\n\t\\\"b"},
      {R"('it\'s "x"')", "it's \"x\""},
      {R"(`raw\n`)", "raw\\n"},
      {R"("\x41\101\u00e9\U0001F600")", "AA\u00e9\U0001F600"},
      {R"("\a\b\f\v\r")", "\a\b\f\v\r"},
      {"\"# no comment\"", "# no comment"},
      {R"("\xff")", "\xff"},
  };
  for (const auto& [text, value] : kCases) {
    const ExprPtr expr = Parse(text);
    ASSERT_NE(expr, nullptr);
    EXPECT_EQ(expr->As<StringExpr>()->value, value) << text;
  }
}

TEST(Parser, ParsesSelectors) {
  const ExprPtr expr =
      Parse(R"(foo:bar{a="1", 'b c'!="2", sum=~"x.*", on!~"y",}[1h30m] offset -5m @ 12.5)");
  const auto* selector = expr->As<SelectorExpr>();
  ASSERT_NE(selector, nullptr);
  EXPECT_EQ(selector->name, "foo:bar");
  ASSERT_EQ(selector->matchers.size(), 4U);
  EXPECT_EQ(selector->matchers[1].label, "b c");
  EXPECT_EQ(selector->matchers[2].op, MatchOp::kRegex);
  EXPECT_EQ(selector->matchers[3].op, MatchOp::kNotRegex);
  EXPECT_EQ(selector->range.nanos, 5'400'000'000'000);
  EXPECT_EQ(selector->modifiers.offset->nanos, -300'000'000'000);
  EXPECT_EQ(selector->modifiers.at->seconds, 12.5);

  EXPECT_EQ(Parse("{\"my.metric\", a=\"b\"}")->As<SelectorExpr>()->name, "my.metric");
  EXPECT_EQ(Parse("x[300]")->As<SelectorExpr>()->range.nanos, 300'000'000'000);
  EXPECT_EQ(Parse("x[500 samples]")->As<SelectorExpr>()->samples, 500);
  EXPECT_EQ(Parse("x[attempt]")->As<SelectorExpr>()->window, WindowSyntax::kAttempt);
  {
    const ExprPtr first = Parse("x[first 200 samples after 20] offset 5m");
    EXPECT_EQ(first->As<SelectorExpr>()->window, WindowSyntax::kFirst);
    EXPECT_EQ(first->As<SelectorExpr>()->samples, 200);
    EXPECT_EQ(first->As<SelectorExpr>()->skipped, 20);
  }
  EXPECT_TRUE(Parse("x[5m] smoothed")->As<SelectorExpr>()->smoothed);
  EXPECT_EQ(Parse("x @ end() offset 1m")->As<SelectorExpr>()->modifiers.at->kind, AtKind::kEnd);
  EXPECT_EQ(Parse("start")->As<SelectorExpr>()->name, "start");
  EXPECT_EQ(Parse("sum # a comment\n{a='b'}")->As<SelectorExpr>()->name, "sum");
  EXPECT_EQ(Parse("$limit")->As<ParameterExpr>()->name, "limit");
}

TEST(Parser, ParsesSubqueriesAggregationsAndMatching) {
  const ExprPtr subquery = Parse("rate(x[1m])[30m:5m] offset 1h");
  ASSERT_NE(subquery->As<SubqueryExpr>(), nullptr);
  EXPECT_EQ(subquery->As<SubqueryExpr>()->step->nanos, 300'000'000'000);
  EXPECT_FALSE(Parse("x[30m:]")->As<SubqueryExpr>()->step.has_value());

  const ExprPtr topk = Parse("topk(3, x) BY (a, \"b c\")");
  EXPECT_EQ(topk->As<AggregateExpr>()->op, AggregateOp::kTopk);
  EXPECT_EQ(topk->As<AggregateExpr>()->labels.size(), 2U);
  EXPECT_NE(topk->As<AggregateExpr>()->parameter, nullptr);
  EXPECT_EQ(Parse("sum without () (x)")->As<AggregateExpr>()->grouping, Grouping::kWithout);

  const ExprPtr binary = Parse("a == bool on(x, y,) group_left(z) b");
  const VectorMatching& matching = binary->As<BinaryExpr>()->matching;
  EXPECT_TRUE(binary->As<BinaryExpr>()->return_bool);
  EXPECT_TRUE(matching.on);
  EXPECT_EQ(matching.group, GroupSide::kLeft);
  EXPECT_EQ(matching.include, std::vector<std::string>{"z"});
  EXPECT_EQ(Parse("a + fill (0) b")->As<BinaryExpr>()->matching.fill_left, 0);
  EXPECT_EQ(Parse("a + fill_left(1) fill_right(-2) b")->As<BinaryExpr>()->matching.fill_right, -2);
  EXPECT_EQ(Parse("a + fill")->As<BinaryExpr>()->right->As<SelectorExpr>()->name, "fill");
}

TEST(Parser, SpansCoverSourceText) {
  const std::string text = "sum(rate(x[5m])) by (a) > foo{b=\"c\"} offset 5m";
  const Source source("e", text);
  Diagnostics diagnostics;
  const ExprPtr expr = ParseExpr(source, &diagnostics);
  ASSERT_NE(expr, nullptr);
  EXPECT_EQ(source.Text(expr->span), text);
  const auto* binary = expr->As<BinaryExpr>();
  EXPECT_EQ(source.Text(binary->op_span), ">");
  EXPECT_EQ(source.Text(binary->left->span), "sum(rate(x[5m])) by (a)");
  EXPECT_EQ(source.Text(binary->right->span), "foo{b=\"c\"} offset 5m");
}

// The golden text is the error message, with the caret below its position.
TEST(Parser, ReportsGoldenErrors) {
  const std::pair<std::string_view, std::string_view> kCases[] = {
      {"", "e:1:1: error: no expression found in input"},
      {"a +", "e:1:4: error: unexpected end of input, expected an expression\n    a +\n       ^"},
      {"(a",
       "e:1:3: error: unexpected end of input in parentheses, expected \")\"\n    (a\n      ^"},
      {"a)", "e:1:2: error: unexpected \")\"\n    a)\n     ^"},
      {"a b", "e:1:3: error: unexpected identifier \"b\"\n    a b\n      ^"},
      {"foo{a=b}",
       "e:1:7: error: unexpected identifier \"b\" in label matching, expected string\n"
       "    foo{a=b}\n          ^"},
      {"foo{a}",
       "e:1:6: error: unexpected \"}\" in label matching, expected label matching operator\n"
       "    foo{a}\n         ^"},
      {"foo{a=\"b\"",
       "e:1:10: error: unexpected end of input inside braces\n    foo{a=\"b\"\n             ^"},
      {"foo{\"bar\"}",
       "e:1:5: error: metric name must not be set twice: \"foo\" or \"bar\"\n"
       "    foo{\"bar\"}\n        ^~~~~"},
      {"foo[5m",
       "e:1:7: error: unexpected end of input in subquery or range, expected \":\" or \"]\"\n"
       "    foo[5m\n          ^"},
      {"foo[]",
       "e:1:5: error: unexpected \"]\" in subquery or range selector, expected number or duration\n"
       "    foo[]\n        ^"},
      {"foo[0s]", "e:1:5: error: duration must be greater than 0\n    foo[0s]\n        ^~"},
      {"foo[-5m]", "e:1:5: error: duration must be greater than 0\n    foo[-5m]\n        ^~~"},
      {"foo[5m+1m]",
       "e:1:7: error: arithmetic on durations is not supported yet\n    foo[5m+1m]\n          ^"},
      {"foo[-1m + 5m]",
       "e:1:9: error: arithmetic on durations is not supported yet\n    foo[-1m + 5m]\n            "
       "^"},
      {"foo[5m:1m * 2]",
       "e:1:11: error: arithmetic on durations is not supported yet\n    foo[5m:1m * 2]\n          "
       "    ^"},
      {"foo[step()]",
       "e:1:5: error: arithmetic on durations is not supported yet\n    foo[step()]\n        ^~~~"},
      {"foo[$w]",
       "e:1:5: error: a parameter cannot be a duration: windows and offsets are fixed when the "
       "rule is "
       "compiled\n    foo[$w]\n        ^~"},
      {"(foo)[5m]",
       "e:1:6: error: ranges only allowed for vector selectors\n    (foo)[5m]\n         ^~~~"},
      {"foo offset 5m [1m]",
       "e:1:15: error: no offset modifiers allowed before range\n"
       "    foo offset 5m [1m]\n                  ^~~~"},
      {"foo @ 5 [1m]",
       "e:1:9: error: no @ modifiers allowed before range\n    foo @ 5 [1m]\n            ^~~~"},
      {"foo offset 1m offset 2m",
       "e:1:15: error: offset may not be set multiple times\n"
       "    foo offset 1m offset 2m\n                  ^~~~~~"},
      {"sum(x) offset 5m",
       "e:1:8: error: offset modifier must be preceded by an instant vector selector or range "
       "vector selector or a subquery\n    sum(x) offset 5m\n           ^~~~~~"},
      {"sum()",
       "e:1:1: error: no arguments for aggregate expression provided\n    sum()\n    ^~~~~"},
      {"topk(x)",
       "e:1:1: error: wrong number of arguments for aggregate expression provided, expected 2, got "
       "1\n"
       "    topk(x)\n    ^~~~~~~"},
      {"rate(x[5m],)",
       "e:1:12: error: trailing commas not allowed in function call args\n"
       "    rate(x[5m],)\n               ^"},
      {"sum by a (x)",
       "e:1:8: error: unexpected identifier \"a\" in grouping opts, expected \"(\"\n"
       "    sum by a (x)\n           ^"},
      {"5mm",
       "e:1:1: error: not a valid duration: \"5mm\" (use a form such as 30s, 5m, or 1h30m)\n    "
       "5mm\n    ^~~"},
      {"1m5h",
       "e:1:1: error: not a valid duration: \"1m5h\" (use a form such as 30s, 5m, or 1h30m)\n    "
       "1m5h\n    ^~~~"},
      {"3foo", "e:1:1: error: bad number or duration: \"3foo\"\n    3foo\n    ^~~~"},
      {"1..2", "e:1:1: error: bad number or duration: \"1..2\"\n    1..2\n    ^~~~"},
      {"\"abc", "e:1:1: error: unterminated quoted string\n    \"abc\n    ^"},
      {"\"a\\q\"", "e:1:3: error: unknown escape sequence \\q\n    \"a\\q\"\n      ^"},
      {"a ! b", "e:1:3: error: unexpected character '!'\n    a ! b\n      ^"},
      {"a ยท b", "e:1:3: error: unexpected character \"\u0e22\"\n    a \u0e22\u0e17 b\n      ^"},
      {"a = b", "e:1:3: error: unexpected \"=\"\n    a = b\n      ^"},
      {"a > on b",
       "e:1:8: error: unexpected identifier \"b\" in grouping opts, expected \"(\"\n"
       "    a > on b\n           ^"},
      {"a\n  + b\n  + *",
       "e:3:5: error: unexpected \"*\", expected an expression\n      + *\n        ^"},
      {"x[1.5 samples]",
       "e:1:3: error: a number of samples must be a whole number from 1 to 1e9\n"
       "    x[1.5 samples]\n      ^~~"},
      {"x[first 1 samples after 1.5]",
       "e:1:25: error: the number of samples to skip must be a whole number from 0 to 1e9\n"
       "    x[first 1 samples after 1.5]\n                            ^~~"},
      {"x[first samples]",
       "e:1:9: error: unexpected identifier \"samples\" in window, expected a number of samples\n"
       "    x[first samples]\n            ^~~~~~~"},
      {"x[first 5]",
       "e:1:10: error: unexpected \"]\" in window, expected \"samples\" or \"]\"\n"
       "    x[first 5]\n             ^"},
      {"$", "e:1:1: error: expected a parameter name after '$'\n    $\n    ^"},
  };
  for (const auto& [text, message] : kCases) EXPECT_EQ(Failure(text), message) << text;
}

TEST(Parser, EnforcesLimitsWithoutOverflow) {
  EXPECT_NE(Failure(std::string(100'000, '(')).find("at most 65536 are allowed"),
            std::string::npos);
  EXPECT_NE(Failure(std::string(60'000, '(')).find("nested deeper than 128 levels"),
            std::string::npos);
  EXPECT_NE(Failure(std::string(60'000, '-') + "x").find("nested deeper than 128 levels"),
            std::string::npos);
  std::string chain = "x";
  for (int i = 0; i < 10'000; ++i) chain += "+x";
  EXPECT_NE(Failure(chain).find("nested deeper than 256 levels"), std::string::npos);
  std::string power = "x";
  for (int i = 0; i < 10'000; ++i) power += "^x";
  EXPECT_NE(Failure(power).find("nested deeper than 128 levels"), std::string::npos);
  std::string calls;
  for (int i = 0; i < 10'000; ++i) calls += "abs(";
  EXPECT_NE(Failure(calls).find("nested deeper than 128 levels"), std::string::npos);
  std::string windows = "x";
  for (int i = 0; i < 5'000; ++i) windows += "[5m:]";
  EXPECT_NE(Failure(windows).find("nested deeper than 256 levels"), std::string::npos);
}

}  // namespace
}  // namespace pitwall::lang
