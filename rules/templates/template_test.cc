#include "rules/templates/template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "rules/templates/go_format.h"
#include "services/base/testing/limited_child.h"
#include "services/base/text/strings.h"

namespace pitwall::templates {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class TemplateTest : public testing::Test {
 protected:
  Labels labels{{"__name__", "gpu"}, {"gpu", "3"}, {"node", "n7.example.com:9100"}};
  std::vector<std::pair<std::string, double>> params{{"threshold", 10}, {"share", 0.5}};
  TemplateInput input{&labels, 93.256, params, 41, 1'700'000'000'250'000'000};

  std::string Expand(std::string_view text) {
    const auto t = Template::Parse("t", text);
    return t.ok() ? t->Expand(input) : Cat("PARSE ", ToStd(t.status().message()));
  }
  std::string WithValue(double value, std::string_view text) {
    input.value = value;
    return Expand(text);
  }
};

// Go defines `gt` and `ge` as the negations of `le` and `lt`.
TEST_F(TemplateTest, NanIsGreaterThanAnyNumberAsInGo) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(
      WithValue(nan,
                "{{ gt $value 5.0 }} {{ ge $value 5.0 }} {{ lt $value 5.0 }} {{ le $value 5.0 }}"),
      "true true false false");
}

TEST_F(TemplateTest, ExpandsLikeGo) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"plain { } text", "plain { } text"},
      {"GPU {{ $labels.gpu }} at {{ $value }}", "GPU 3 at 93.256"},
      {"{{ .Labels.gpu }} {{ .Value }} {{ $.Labels.gpu }}", "3 93.256 3"},
      {"[{{ $labels.none }}]", "[]"},
      {"{{ $labels.__name__ }}", "gpu"},
      {"{{ $params.threshold }} {{ $params.share }}", "10 0.5"},
      {"step {{ $step }}", "step 41"},
      {"{{ printf \"%.2f\" $value }}%", "93.26%"},
      {"{{ $value | printf \"%.1f\" }}", "93.3"},
      {"{{ $value | humanize | toUpper | printf \"<%6s>\" }}", "< 93.26>"},
      {"a {{- $labels.gpu -}} b", "a3b"},
      {"a {{- /* comment */ -}} b", "ab"},
      {"a {{/* comment */}} b", "a  b"},
      {"{{ if gt $value 90.0 }}hot{{ else }}cool{{ end }}", "hot"},
      {"{{ if gt $value 90 }}hot{{ else }}cool{{ end }}", "hot"},
      {"{{ if lt $value 1.0 }}a{{ else if lt $value 100.0 }}b{{ else }}c{{ end }}", "b"},
      {"{{ if and (gt $value 90.0) (eq $labels.gpu \"3\") }}yes{{ end }}", "yes"},
      {"{{ if or (lt $value 1.0) (ne $labels.gpu \"3\") }}yes{{ else }}no{{ end }}", "no"},
      {"{{ if not $labels.none }}none{{ end }}", "none"},
      {"{{ if eq $labels.gpu \"1\" \"2\" \"3\" }}in{{ end }}", "in"},
      {"{{ with $labels.gpu }}[{{ . }}]{{ end }}{{ with $labels.none }}x{{ else }}y{{ end }}",
       "[3]y"},
      {"{{ with $x := $labels.gpu }}{{ $x }}{{ end }}", "3"},
      {"{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ $y := 5 }}{{ end }}{{ $x }}", "2"},
      {"{{ $v := humanize $value }}{{ $v }}/{{ $v }}", "93.26/93.26"},
      {"{{ toUpper \"ab\\tc\" }}{{ toLower `A\\B` }}", "AB\tCa\\b"},
      {"{{ title \"gpu is-hot it's foo_bar a.b\" }}", "Gpu Is-Hot It's Foo_bar A.b"},
      {"{{ reReplaceAll \"(.*):(.*)\" \"$2-${1}x\" $labels.node }}", "9100-n7.example.comx"},
      {"{{ reReplaceAll \"a\" \"$1x\" \"banana\" }}", "bnn"},
      {"{{ reReplaceAll \"x*\" \"-\" \"abc\" }}", "-a-b-c-"},
      {"{{ reReplaceAll \"(?P<first>n)7\" \"${first}$$\" $labels.node }}", "n$.example.com:9100"},
      {"{{ match \"^n[0-9]\" $labels.node }}{{ match \"^x\" $labels.node }}", "truefalse"},
      {"{{ stripPort $labels.node }} {{ stripDomain $labels.node }}", "n7.example.com n7:9100"},
      {"{{ stripDomain \"10.0.0.1:80\" }} {{ stripPort \"[::1]:80\" }}", "10.0.0.1:80 ::1"},
      {"{{ parseDuration \"1h30m\" }}", "5400"},
      {"{{ now | humanizeTimestamp }}", "2023-11-14 22:13:20.249 +0000 UTC"},
      {"{{ len $labels }}{{ len \"abc\" }} {{ index $labels \"gpu\" }}", "33 3"},
      {"{{ $labels }}", "map[__name__:gpu gpu:3 node:n7.example.com:9100]"},
      {"{{ print 1 2 \"a\" 3 }}", "1 2a3"},
      {"{{ html \"<a>\" }}{{ urlquery \"a b&c\" }}", "&lt;a&gt;a+b%26c"},
      {"{{ $externalLabels.x }}{{ externalURL }}{{ $externalURL }}", ""},
      {"{{ 1e6 }} {{ -3 }} {{ 0x10 }} {{ 1_000 }} {{ .5 }}", "1e+06 -3 16 1000 0.5"},
      {"{{ true }} {{ (1) }} {{ \"\\u00e4\\x41\\101\" }}", "true 1 äAA"},
      {"{{ printf \"%d %s\" $value $labels.gpu }}", "%!d(float64=93.256) 3"},
  };
  for (const auto& [text, want] : cases) EXPECT_EQ(Expand(text), want) << text;
}

TEST_F(TemplateTest, HumanizesNumbers) {
  struct Case {
    double v;
    const char *humanize, *binary, *duration, *percentage;
  };
  const Case cases[] = {
      {0, "0", "0", "0s", "0%"},
      {1, "1", "1", "1s", "100%"},
      {1234567, "1.235M", "1.177Mi", "14d 6h 56m 7s", "1.235e+08%"},
      {0.12, "120m", "0.12", "120ms", "12%"},
      {-0.00012345, "-123.4u", "-0.0001234", "-123.4us", "-0.01234%"},
      {12345678901234.0, "12.35T", "11.23Ti", "142889802d 2h 20m 34s", "1.235e+15%"},
      {59.5, "59.5", "59.5", "59.5s", "5950%"},
      {-90, "-90", "-90", "-1m 30s", "-9000%"},
      {3600, "3.6k", "3.516ki", "1h 0m 0s", "3.6e+05%"},
      {std::nan(""), "NaN", "NaN", "NaN", "NaN%"},
      {INFINITY, "+Inf", "+Inf", "+Inf", "+Inf%"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(WithValue(c.v, "{{ humanize $value }}"), c.humanize) << c.v;
    EXPECT_EQ(WithValue(c.v, "{{ humanize1024 $value }}"), c.binary) << c.v;
    EXPECT_EQ(WithValue(c.v, "{{ humanizeDuration $value }}"), c.duration) << c.v;
    EXPECT_EQ(WithValue(c.v, "{{ humanizePercentage $value }}"), c.percentage) << c.v;
  }
  EXPECT_EQ(WithValue(-1.5, "{{ humanizeTimestamp $value }}"), "1969-12-31 23:59:58.5 +0000 UTC");
  EXPECT_EQ(Expand("{{ humanize \"1234\" }}"), "1.234k");
  EXPECT_THAT(Expand("{{ humanize \"x\" }}"), HasSubstr("invalid syntax"));
  EXPECT_THAT(WithValue(1e300, "{{ humanizeTimestamp $value }}"), HasSubstr("overflows int64"));
}

// The expected strings are the output of Go 1.x.
TEST(GoFormat, FormatsNumbersLikeGo) {
  const std::pair<double, const char*> shortest[] = {
      {1e5, "100000"},  {1e6, "1e+06"},     {123456, "123456"},  {1234567, "1.234567e+06"},
      {1e20, "1e+20"},  {1e21, "1e+21"},    {1.5e-5, "1.5e-05"}, {0.0001, "0.0001"},
      {93.25, "93.25"}, {0, "0"},           {-1, "-1"},          {12345678.9, "1.23456789e+07"},
      {NAN, "NaN"},     {INFINITY, "+Inf"}, {-INFINITY, "-Inf"}, {1e-300, "1e-300"},
  };
  for (const auto& [v, want] : shortest) EXPECT_EQ(GoNumber(v), want);
  const auto f = [](std::string_view format, std::vector<Value> arguments) {
    return GoPrintf(format, arguments);
  };
  EXPECT_EQ(f("%.4g|%.2f|%6.1f|%+v|%08.3f|%e", {123456789.0, 93.25, 93.25, 93.25, 93.25, 93.25}),
            "1.235e+08|93.25|  93.2|+93.25|0093.250|9.325000e+01");
  EXPECT_EQ(f("%.2f|%08.3f|%+g", {NAN, INFINITY, NAN}), "NaN|    +Inf|+NaN");
  EXPECT_EQ(f("%d|%s|%5d|%-5d|%05d|%x|%q|%t|%d", {1.5, 1.5, int64_t{42}, int64_t{42}, int64_t{-42},
                                                  std::string("hi"), std::string("a\"b"), true}),
            "%!d(float64=1.5)|%!s(float64=1.5)|   42|42   |-0042|6869|\"a\\\"b\"|true|"
            "%!d(MISSING)");
  EXPECT_EQ(f("%s %d\n", {std::string("a"), int64_t{1}, 2.5}), "a 1\n%!(EXTRA float64=2.5)");
  EXPECT_EQ(f("%5s|%-5s|%.2s|%v|%s",
              {std::string("ab"), std::string("ab"), std::string("abc"), Nil{}, Nil{}}),
            "   ab|ab   |ab|<nil>|%!s(<nil>)");
  EXPECT_EQ(f("100%", {}), "100%!(NOVERB)");
  EXPECT_EQ(f("%%", {}), "%");
  EXPECT_LT(f("%999999999d", {int64_t{1}}).size(), 2000u);
  EXPECT_EQ(GoPrint(std::vector<Value>{std::string("a"), int64_t{1}, int64_t{2}, std::string("b"),
                                       std::string("c"), 3.0},
                    false),
            "a1 2bc3");
}

TEST_F(TemplateTest, ParseErrorsHavePositions) {
  const std::pair<const char*, const char*> cases[] = {
      {"{{ $x }}", "PARSE t:1:4: undefined variable \"$x\""},
      {"ab\n  {{ foo }}", "PARSE t:2:6: function \"foo\" not defined"},
      {"{{ .Value", "PARSE t:1:1: unclosed action"},
      {"{{ if }}x{{ end }}", "PARSE t:1:7: missing value for if"},
      {"{{ if 1 }}x", "PARSE t:1:12: unexpected EOF: no {{end}} for {{if}}"},
      {"{{ end }}", "PARSE t:1:4: unexpected {{end}}"},
      {"{{ else }}", "PARSE t:1:4: unexpected {{else}}"},
      {"{{ \"abc }}", "PARSE t:1:4: unterminated quoted string"},
      {"{{ 1a }}", "PARSE t:1:4: bad number syntax: \"1a\""},
      {"{{ 1 | 2 }}", "PARSE t:1:8: non executable command in pipeline stage 2"},
      {"{{ $labels.gpu 1 }}", "PARSE t:1:4: can't give argument to non-function $labels.gpu"},
      {"{{ printf }}", "PARSE t:1:4: wrong number of args for printf: want at least 1 got 0"},
      {"{{ match \"a\" }}", "PARSE t:1:4: wrong number of args for match: want 2 got 1"},
      {"{{ query $labels.gpu }}",
       "PARSE t:1:4: the text of a query must be constant: it is compiled with the rule, before "
       "any "
       "label or value is known. Query all series and pick among them ({{ range query \"…\" }}{{ "
       "if "
       "eq .Labels.x $labels.x }}…), or bring the value into expr"},
      {"{{ printf \"up{gpu='%s'}\" $labels.gpu | query }}",
       "PARSE t:1:40: the text of a query must be constant: it is compiled with the rule, before "
       "any label or value is known. Query all series and pick among them ({{ range query \"…\" "
       "}}{{ if eq .Labels.x $labels.x }}…), or bring the value into expr"},
      {"{{ query }}", "PARSE t:1:4: wrong number of args for query: want 1 got 0"},
      {"{{ break }}", "PARSE t:1:4: {{break}} outside {{range}}"},
      {"{{ range $labels }}x", "PARSE t:1:21: unexpected EOF: no {{end}} for {{range}}"},
      {"{{ range }}{{ end }}", "PARSE t:1:10: missing value for range"},
      {"{{ template \"x\" }}", "PARSE t:1:13: template \"x\" not defined"},
      {"{{ template x }}", "PARSE t:1:13: unexpected \"x\" in template clause"},
      {"{{ define \"x\" }}{{ $labels.gpu }}{{ end }}",
       "PARSE t:1:20: undefined variable \"$labels\""},
      {"{{ if 1 }}{{ define \"x\" }}{{ end }}{{ end }}", "PARSE t:1:14: unexpected {{define}}"},
      {"{{ define \"x\" }}{{ end }}{{ define \"x\" }}{{ end }}",
       "PARSE t:1:36: template \"x\" is defined twice"},
      {"{{ range $labels }}{{ define \"x\" }}{{ break }}{{ end }}{{ end }}",
       "PARSE t:1:23: unexpected {{define}}"},
      {"{{ nil }}", "PARSE t:1:4: nil is not a command"},
      {"{{ }}", "PARSE t:1:4: missing value for command"},
      {"{{ ( $value }}", "PARSE t:1:13: unexpected \"}}\" in parenthesized pipeline"},
      {"{{ /* x }}", "PARSE t:1:1: unclosed comment"},
      {"{{ $value = 1 }}", "PARSE t:1:4: cannot assign to $value"},
      {"{{ $value | }}", "PARSE t:1:13: empty command in pipeline"},
      {"{{ a ; b }}", "PARSE t:1:6: unexpected \";\" in action"},
      {"{{ if 1 }}{{ $y := 1 }}{{ end }}{{ $y }}", "PARSE t:1:36: undefined variable \"$y\""},
  };
  for (const auto& [text, want] : cases) EXPECT_EQ(Expand(text), want) << text;
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "{{ if 1 }}";
  EXPECT_THAT(Expand(deep), HasSubstr("nested too deeply"));
  EXPECT_THAT(Expand("{{ " + std::string(1000, '(') + " }}"), HasSubstr("nested too deeply"));
  EXPECT_THAT(Expand(std::string(100'000, 'x')), HasSubstr("longer than"));
}

TEST_F(TemplateTest, RunTimeErrorsExpandToErrorMessage) {
  EXPECT_EQ(Expand("x {{ $labels.gpu.y }}"),
            "<error expanding template: error executing template t: template: t:1:17: executing "
            "\"t\" at <$labels.gpu.y>: can't evaluate field y in type string>");
  EXPECT_EQ(Expand("{{ toUpper 1 }}"),
            "<error expanding template: error executing template t: template: t:1:4: executing "
            "\"t\" at <toUpper 1>: error calling toUpper: wrong type for value; expected string; "
            "got int>");
  EXPECT_THAT(Expand("{{ .Nope }}"), HasSubstr("can't evaluate field Nope in type struct"));
  EXPECT_THAT(Expand("{{ gt $value \"a\" }}"),
              HasSubstr("incompatible types for comparison: float64 and string"));
  EXPECT_THAT(Expand("{{ match \"(\" \"a\" }}"), HasSubstr("bad regular expression"));
  EXPECT_THAT(Expand("{{ $params.nope }}"), HasSubstr("the rule has no parameter \"nope\""));
}

TEST_F(TemplateTest, OutputIsLimited) {
  std::string text = "{{ $x := \"0123456789\" }}";
  for (int i = 0; i < 60; ++i) text += "{{ $x = print $x $x }}";
  EXPECT_THAT(Expand(text + "{{ $x }}"), HasSubstr("output is longer than 65536 bytes"));
}

// Each template requires gigabytes, but the child process may allocate only 400 MiB more.
TEST_F(TemplateTest, ExhaustedMemoryReturnsError) {
  const std::string long_value(60'000, 'v');
  Labels labels({{"a", long_value}});
  input.labels = &labels;
  std::string groups, copies, dots;
  for (int i = 0; i < 15'000; ++i) groups += "$0";
  for (int i = 0; i < 1'500; ++i) copies += Cat("{{ $v", i, " := $x }}");
  for (int i = 0; i < 300; ++i) dots += Cat("{{ $v", i, " := . }}");
  const std::string x = "{{ $x := $labels.a }}";
  for (const std::string& text :
       {Cat(x, "{{ reReplaceAll \"(.*)\" \"", groups, "\" $x }}"), Cat(x, copies),
        Cat("{{ define \"t\" }}", dots, "{{ template \"t\" . }}{{ end }}", x,
            "{{ template \"t\" $x }}")}) {
    const int status = RunWithMemoryLimit(size_t{400} << 20, [&] {
      const auto parsed = Template::Parse("t", text);
      if (!parsed.ok()) return 2;
      const auto out = parsed->TryExpand(input);
      return out.ok() ? 1 : 0;
    });
    EXPECT_EQ(status, 0) << text.substr(0, 100);
  }
}

TEST_F(TemplateTest, DetectsVaryingOutputAndReferencedParameters) {
  const auto varies = [](std::string_view text) { return Template::Parse("t", text)->varies(); };
  EXPECT_FALSE(varies("plain"));
  EXPECT_FALSE(varies("{{ $labels.gpu }}{{ .Labels.x }}{{ toUpper $labels.x }}"));
  EXPECT_TRUE(varies("{{ $value }}"));
  EXPECT_TRUE(varies("{{ .Value }}"));
  EXPECT_TRUE(varies("{{ $.Value }}"));
  EXPECT_TRUE(varies("{{ if gt $value 1.0 }}x{{ end }}"));
  EXPECT_TRUE(varies("{{ $params.a }}"));
  EXPECT_TRUE(varies("{{ $step }}"));
  EXPECT_TRUE(varies("{{ now }}"));
  EXPECT_TRUE(varies("{{ . }}"));
  EXPECT_TRUE(Template::Parse("t", "plain")->constant());
  EXPECT_FALSE(Template::Parse("t", "{{ 1 }}")->constant());
  EXPECT_THAT(Template::Parse("t", "{{ $params.b }}{{ if $params.a }}{{ $params.b }}{{ end }}")
                  ->parameters(),
              ElementsAre("a", "b"));
}

TEST_F(TemplateTest, DefaultTemplateIsEmpty) {
  EXPECT_EQ(Template().Expand(input), "");
  input.step = kNoStep;
  EXPECT_EQ(Expand("[{{ $step }}]"), "[]");
  input.labels = nullptr;
  EXPECT_EQ(Expand("[{{ $labels.a }}{{ len $labels }}]"), "[0]");
}

}  // namespace
}  // namespace pitwall::templates
