#include "rules/lang/printer.h"

#include <gtest/gtest.h>

#include <fstream>

#include "rules/lang/parser.h"
#include "services/base/text/strings.h"

namespace pitwall::lang {
namespace {

ExprPtr Parse(std::string_view text) {
  Diagnostics diagnostics;
  ExprPtr expr = ParseExpr(Source("e", std::string(text)), &diagnostics);
  EXPECT_NE(expr, nullptr) << diagnostics.ToString();
  return expr;
}

void ExpectRoundTrip(std::string_view text) {
  const ExprPtr first = Parse(text);
  ASSERT_NE(first, nullptr);
  const std::string printed = Print(*first);
  const ExprPtr second = Parse(printed);
  ASSERT_NE(second, nullptr) << printed;
  EXPECT_TRUE(Equal(*first, *second)) << text << "\n" << printed;
  EXPECT_EQ(Print(*second), printed);
}

TEST(Printer, PrintsCanonicalText) {
  const std::pair<std::string_view, std::string_view> kCases[] = {
      {"SUM(x)by(a,b)", "sum by (a, b) (x)"},
      {"sum by () (x)", "sum by () (x)"},
      {"a+b", "a + b"},
      {"a==bool ignoring(x)group_right b", "a == bool ignoring (x) group_right () b"},
      {"x{a='b',c=~\"d\"}[90s]", "x{a=\"b\",c=~\"d\"}[1m30s]"},
      {"x[300]", "x[300]"},
      {"x offset 1h @ 5", "x @ 5 offset 1h"},
      {"x[1h:]", "x[1h:]"},
      {"x[1h:30s]offset-5m", "x[1h:30s] offset -5m"},
      {"{'a b'}", "{\"a b\"}"},
      {"{'bool'}", "{\"bool\"}"},
      {"{'inf',x='1'}", "{\"inf\",x=\"1\"}"},
      {"{'and'}", "and"},
      {"{'sum', 'x y'='1'}", "sum{\"x y\"=\"1\"}"},
      {"{}", "{}"},
      {"- 1", "-1"},
      {"-x", "-x"},
      {"1e6", "1000000"},
      {"inf^x", "Inf ^ x"},  // "+Inf ^ x" would be +(Inf ^ x)
      {"x ^ -inf", "x ^ -Inf"},
      {"1h30m", "1h30m"},
      {"\"\\xff\\n\"", "\"\\xff\\n\""},
      {"`a\"b`", "\"a\\\"b\""},
      {"x[10 samples]", "x[10 samples]"},
      {"x [ attempt ]", "x[attempt]"},
      {"x[FIRST 200 sample after 0]", "x[first 200 samples]"},
      {"x[first 1 samples after 7] offset 1m", "x[first 1 samples after 7] offset 1m"},
      {"((x))", "((x))"},
      {"a + fill(0) b", "a + fill_left (0) fill_right (0) b"},
      {"sum by ('inf') (x)", "sum by (\"inf\") (x)"},
  };
  for (const auto& [text, printed] : kCases) {
    const ExprPtr expr = Parse(text);
    ASSERT_NE(expr, nullptr);
    EXPECT_EQ(Print(*expr), printed) << text;
    ExpectRoundTrip(text);
  }
}

TEST(Printer, RealWorldExpressionsRoundTrip) {
  std::ifstream file("rules/lang/testdata/real_world.promql");
  ASSERT_TRUE(file) << "run from the repository's root";
  std::string line;
  int count = 0;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    SCOPED_TRACE(line);
    ExpectRoundTrip(line);
    ++count;
  }
  EXPECT_GE(count, 80);
}

TEST(Ast, EqualityComparesAllFields) {
  const std::pair<std::string_view, std::string_view> kDifferent[] = {
      {"a", "b"},
      {"a", "a{x=\"1\"}"},
      {"a{x=\"1\"}", "a{x!=\"1\"}"},
      {"a[5m]", "a[6m]"},
      {"a[5m]", "a"},
      {"a offset 5m", "a"},
      {"a @ 5", "a @ 6"},
      {"a + b", "a - b"},
      {"a > b", "a > bool b"},
      {"a + on () b", "a + b"},
      {"sum(a)", "avg(a)"},
      {"sum by (x) (a)", "sum(a)"},
      {"rate(a[5m])", "irate(a[5m])"},
      {"(a)", "a"},
      {"1", "2"},
      {"\"1\"", "1"},
      {"-a", "+a"},
      {"$a", "$b"},
      {"a[5m:]", "a[5m:1m]"},
      {"a[5 samples]", "a[6 samples]"},
      {"a[attempt]", "a[5 samples]"},
      {"a[first 5 samples]", "a[5 samples]"},
      {"a[first 5 samples]", "a[first 5 samples after 1]"},
      {"f(a)", "f(a, b)"},
      {"topk(1, a)", "topk(2, a)"},
      {"a[5m] smoothed", "a[5m]"},
      {"a + on (x) group_left (y) b", "a + on (x) group_left (z) b"},
  };
  for (const auto& [a, b] : kDifferent)
    EXPECT_FALSE(Equal(*Parse(a), *Parse(b))) << a << " and " << b;
  EXPECT_TRUE(Equal(*Parse("a  +  b"), *Parse("a+b # same")));
  EXPECT_TRUE(Equal(*Parse("NaN"), *Parse("nan")));
}

}  // namespace
}  // namespace pitwall::lang
