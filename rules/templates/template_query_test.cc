// Tests for loops, nested templates, and query results. The expected strings are the output of
// Prometheus' template package.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/templates/template.h"
#include "services/base/text/strings.h"

namespace pitwall::templates {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class FakeQueries final : public TemplateQueries {
 public:
  StatusOr<std::shared_ptr<const std::vector<QuerySample>>> Run(uint32_t id) override {
    asked.push_back(id);
    if (id == 7) return InvalidArgument("it fails");
    return std::make_shared<const std::vector<QuerySample>>(samples);
  }
  std::vector<QuerySample> samples = {
      {Labels::FromPairs({{"__name__", "up"}, {"gpu", "2"}, {"node", "a"}}), 20},
      {Labels::FromPairs({{"__name__", "up"}, {"gpu", "0"}, {"node", "b"}}), 3.5},
      {Labels::FromPairs({{"__name__", "up"}, {"gpu", "1"}}), 1e6}};
  std::vector<uint32_t> asked;
};

class TemplateQueryTest : public testing::Test {
 protected:
  Labels labels{{"gpu", "1"}, {"node", "n7"}};
  FakeQueries queries;
  TemplateInput input{.labels = &labels, .value = 5, .queries = &queries};

  std::string Expand(std::string_view text) {
    const auto parsed = Template::Parse("t", text);
    if (!parsed.ok()) return Cat("PARSE ", ToStd(parsed.status().message()));
    return parsed->Expand(input);
  }
};

TEST_F(TemplateQueryTest, ExpandsLikePrometheus) {
  const std::pair<const char*, const char*> cases[] = {
      {"{{ query \"up\" | first | value }}", "20"},
      {"{{ query \"up\" | first | label \"gpu\" }}", "2"},
      {"{{ with query \"up\" }}{{ . | first | value | humanize }}{{ end }}", "20"},
      {"{{ (query \"up\" | first).Value }} {{ (query \"up\" | first).Labels.node }}", "20 a"},
      {"{{ range query \"up\" }}{{ .Labels.gpu }}={{ .Value }};{{ end }}", "2=20;0=3.5;1=1e+06;"},
      {"{{ range query \"up\" | sortByLabel \"gpu\" }}{{ .Labels.gpu }}{{ end }}", "012"},
      {"{{ range sortByLabel \"node\" (query \"up\") }}[{{ .Labels.node }}]{{ end }}", "[][a][b]"},
      {"{{ range $i, $s := query \"up\" }}{{ $i }}:{{ $s.Value }} {{ end }}",
       "0:20 1:3.5 2:1e+06 "},
      {"{{ range $s := query \"up\" }}{{ value $s }} {{ end }}", "20 3.5 1e+06 "},
      {"{{ range query \"up\" }}{{ if eq .Labels.gpu $labels.gpu }}{{ .Value }}{{ end }}{{ end }}",
       "1e+06"},
      {"{{ range query \"up\" }}{{ if eq .Labels.gpu \"0\" }}{{ break }}{{ end }}{{ .Value }} {{ "
       "end }}",
       "20 "},
      {"{{ range query \"up\" }}{{ if eq .Labels.gpu \"0\" }}{{ continue }}{{ end }}{{ .Value }} "
       "{{ end }}",
       "20 1e+06 "},
      {"{{ len (query \"up\") }} {{ (index (query \"up\") 1).Value }}", "3 3.5"},
      {"{{ strvalue (first (query \"up\")) }}.", "."},
      {"{{ label \"none\" (first (query \"up\")) }}.", "."},
      {"{{ $labels }} {{ (query \"up\" | first).Labels }}",
       "map[gpu:1 node:n7] map[__name__:up gpu:2 node:a]"},
      {"{{ range $k, $v := $labels }}{{ $k }}={{ $v }},{{ end }}", "gpu=1,node=n7,"},
      {"{{ range $labels }}{{ . }} {{ end }}", "1 n7 "},
      {"{{ range $k, $v := $externalLabels }}x{{ else }}none{{ end }}", "none"},
      {"{{ range 3 }}{{ . }}{{ end }}", "012"},
      {"{{ range $i := 2 }}{{ range $j := 2 }}{{ $i }}{{ $j }} {{ break }}{{ end }}{{ end }}",
       "00 10 "},
      {"{{ define \"t\" }}[{{ . }}]{{ end }}{{ template \"t\" $labels.gpu }}{{ template \"t\" 3 }}",
       "[1][3]"},
      {"{{ define \"t\" }}{{ .arg0 }}-{{ .arg1 }}{{ end }}{{ template \"t\" (args \"a\" 2) }}",
       "a-2"},
      {"{{ args 1 \"b\" }}", "map[arg0:1 arg1:b]"},
      {"{{ template \"t\" . }}{{ define \"t\" }}{{ .Labels.gpu }} {{ .Value }}{{ end }}", "1 5"},
      {"{{ define \"t\" }}{{ $.Labels.gpu }}{{ end }}{{ template \"t\" . }}{{ $.Labels.node }}",
       "1n7"},
      {"{{ define \"t\" }}x{{ end }}{{ template \"t\" }}", "x"},
      {"{{ block \"b\" $value }}<{{ . }}>{{ end }}", "<5>"},
      {"{{ $x := 1 }}{{ range 3 }}{{ $x = . }}{{ end }}{{ $x }}", "2"},
      {"{{ define \"down\" }}{{ if . }}{{ len . }}{{ end }}{{ end }}{{ template \"down\" \"abc\" "
       "}}",
       "3"},
  };
  for (const auto& [text, want] : cases) EXPECT_EQ(Expand(text), want) << text;
  queries.samples.clear();
  EXPECT_EQ(Expand("{{ with query \"up\" }}x{{ else }}nothing{{ end }}"), "nothing");
  EXPECT_EQ(Expand("{{ range query \"up\" }}x{{ else }}nothing{{ end }}"), "nothing");
  EXPECT_THAT(Expand("{{ query \"up\" | first }}"),
              HasSubstr("error calling first: first() called on vector with no elements"));
}

TEST_F(TemplateQueryTest, ReportsRunTimeErrors) {
  EXPECT_THAT(Expand("{{ value 3 }}"),
              HasSubstr("wrong type for value; expected *template.sample; got int"));
  EXPECT_THAT(Expand("{{ first \"x\" }}"), HasSubstr("expected template.queryResult; got string"));
  EXPECT_THAT(Expand("{{ range $value }}{{ end }}"), HasSubstr("range can't iterate over 5"));
  EXPECT_THAT(Expand("{{ (query \"up\" | first).Nope }}"), HasSubstr("can't evaluate field Nope"));
  EXPECT_THAT(Expand("{{ (index (query \"up\") 3).Value }}"), HasSubstr("index out of range: 3"));
  input.queries = nullptr;
  EXPECT_THAT(Expand("{{ query \"up\" }}"), HasSubstr("error calling query: there is no data"));
}

TEST_F(TemplateQueryTest, ExpansionWorkIsLimited) {
  EXPECT_THAT(Expand("{{ define \"r\" }}{{ template \"r\" . }}{{ end }}{{ template \"r\" 1 }}"),
              HasSubstr("exceeded maximum template depth (100)"));
  EXPECT_THAT(Expand("{{ range 1000000 }}{{ range 1000000 }}{{ end }}{{ end }}"),
              HasSubstr("exceeded the maximum number of steps"));
  EXPECT_THAT(Expand("{{ range 1000000 }}{{ $x := match \"a+\" \"b\" }}{{ end }}"),
              HasSubstr("exceeded the maximum number of steps"));
  EXPECT_THAT(Expand("{{ $x := 1 }}{{ range 1000 }}{{ $x = args $x $x }}{{ end }}"),
              HasSubstr("args() nested too deeply"));
  std::string doubling = "{{ $x := 1 }}";
  for (int i = 0; i < 40; ++i) doubling += "{{ $x = args $x $x }}";
  EXPECT_THAT(Expand(doubling + "{{ $x }}"), HasSubstr("longer than 65536 bytes"));
}

TEST_F(TemplateQueryTest, ListsQueriesAndLabels) {
  const std::string_view text =
      "{{ $labels.gpu }}{{ query \"a\" }}{{ $.Labels.node }}{{ printf \"%s > %d\" \"b\" 3 | query "
      "}}";
  const auto parsed = Template::Parse("t", text);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_EQ(parsed->queries().size(), 2u);
  EXPECT_EQ(parsed->queries()[0].text, "a");
  EXPECT_EQ(text.substr(parsed->queries()[0].begin,
                        parsed->queries()[0].end - parsed->queries()[0].begin),
            "\"a\"");
  EXPECT_EQ(parsed->queries()[1].text, "b > 3");
  ASSERT_EQ(parsed->labels().size(), 2u);
  EXPECT_EQ(parsed->labels()[0].name, "gpu");
  EXPECT_EQ(
      text.substr(parsed->labels()[1].begin, parsed->labels()[1].end - parsed->labels()[1].begin),
      "$.Labels.node");
  EXPECT_TRUE(parsed->varies());
  EXPECT_FALSE(parsed->constant());
  parsed->WithQueries({41, 42}).Expand(input);
  EXPECT_THAT(queries.asked, ElementsAre(41, 42));
  EXPECT_THAT(parsed->WithQueries({7, 42}).Expand(input),
              HasSubstr("error calling query: it fails"));
}

TEST_F(TemplateQueryTest, SyntaxErrorsHaveOffsets) {
  ParseProblem problem;
  EXPECT_FALSE(Template::Parse("t", "ab\n  {{ foo }}", &problem).ok());
  EXPECT_EQ(problem.at, 8u);
  EXPECT_EQ(problem.cause, "function \"foo\" not defined");
}

}  // namespace
}  // namespace pitwall::templates
