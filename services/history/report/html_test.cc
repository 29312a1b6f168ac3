// Tests that the HTML report is inert regardless of the text that a job sends, and that its numbers
// match the JSON form.
#include "services/history/report/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/history/report/json.h"
#include "services/history/report/svg.h"
#include "services/history/report/testing/report_fixture.h"
#include "services/history/report/text_form.h"

namespace pitwall::history {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Tag with its attributes, split into names and values. An unclosed quote fails the test.
struct Tag {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;
};
std::vector<Tag> TagsOf(std::string_view html) {
  std::vector<Tag> out;
  for (size_t at = 0; (at = html.find('<', at)) != std::string_view::npos;) {
    ++at;
    Tag tag;
    while (at < html.size() && html[at] != ' ' && html[at] != '>') tag.name += html[at++];
    while (at < html.size() && html[at] != '>') {
      if (html[at] == ' ' || html[at] == '/') {
        ++at;
        continue;
      }
      std::string name;
      while (at < html.size() && html[at] != '=' && html[at] != '>' && html[at] != ' ')
        name += html[at++];
      if (html[at] != '=') {
        tag.attributes.emplace_back(name, "");
        continue;
      }
      EXPECT_EQ(html[++at], '"') << tag.name << " " << name;
      const size_t end = html.find('"', ++at);
      if (end == std::string_view::npos) return out;
      tag.attributes.emplace_back(name, html.substr(at, end - at));
      at = end + 1;
    }
    out.push_back(std::move(tag));
  }
  return out;
}

void ExpectInert(const std::string& html) {
  static const std::set<std::string> kTags = {
      "!doctype", "html",  "head", "meta", "title",  "style",   "body",       "main",
      "h1",       "h2",    "h3",   "p",    "a",      "nav",     "ul",         "li",
      "b",        "dl",    "dt",   "dd",   "div",    "section", "table",      "caption",
      "thead",    "tbody", "tr",   "th",   "td",     "figure",  "figcaption", "svg",
      "text",     "path",  "rect", "g",    "circle", "details", "summary",    "wbr"};
  static const std::set<std::string> kAttributes = {
      "html",  "lang", "charset", "http-equiv", "content",        "name",
      "class", "id",   "href",    "title",      "scope",          "viewBox",
      "role",  "x",    "y",       "d",          "width",          "height",
      "cx",    "cy",   "r",       "data-key",   "data-threshold", "aria-label"};
  for (const Tag& tag : TagsOf(html)) {
    const std::string name = StartsWith(tag.name, "/") ? tag.name.substr(1) : tag.name;
    EXPECT_TRUE(kTags.contains(name)) << name;
    for (const auto& [key, value] : tag.attributes) {
      EXPECT_TRUE(kAttributes.contains(key)) << name << " " << key;
      EXPECT_TRUE(key != "href" || StartsWith(value, "#") || StartsWith(value, "http")) << value;
    }
  }
  EXPECT_THAT(html,
              HasSubstr("http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'"));
  for (const std::string_view unseen : {"\u202E", "\u2066", "\u2028", "\x1b", "\x7f"})
    EXPECT_THAT(html, Not(HasSubstr(std::string(unseen))));
}

TEST(ReportHtmlForm, WordsDoNotWrapAndLongExpressionsCollapse) {
  const std::string expression = Cat("max(", std::string(400, 'x'), ")");
  Document document;
  document.sections = {
      {"rules",
       "Rules",
       false,
       {Table{"t",
              "T",
              {{"rule", "Rule", Unit::kName},
               {"status", "Status", Unit::kText},
               {"of", "Of", Unit::kWord}},
              {{std::string("default/deaths/JobCancelled"), std::string("NoIssuesFound"),
                std::string("network_receive")},
               {expression, std::string("a text of more than one short word"), std::string("cpu")}},
              {},
              0}}}};
  const std::string html = ReportHtml(document);
  EXPECT_THAT(html, HasSubstr("<td class=\"c\">default/<wbr>deaths/<wbr>JobCancelled</td>"));
  EXPECT_THAT(html, HasSubstr("<td class=\"w s\">NoIssuesFound</td>"));
  EXPECT_THAT(html, HasSubstr("<td class=\"w\">a text of more than one short word</td>"));
  EXPECT_THAT(html, HasSubstr("<td class=\"w s\">network receive</td>"));
  EXPECT_THAT(html, HasSubstr(Cat("…</summary>", expression, "</details></td>")));
  EXPECT_THAT(ReportJson(document), HasSubstr("network_receive"));
  ExpectInert(html);
}

TEST(ReportHtmlForm, JobPartsHaveSameColorsAsPage) {
  Document document;
  document.sections = {{"s",
                        "S",
                        false,
                        {BarChart{"b",
                                  "B",
                                  Unit::kRatio,
                                  true,
                                  {{"other", 0.5}, {"initialization", 0.25}, {"forward", 0.25}}}}}};
  const std::string html = ReportHtml(document);
  for (const std::string_view part :
       {"c7\"></b>other", "c5\"></b>initialization", "c1\"></b>forward"})
    EXPECT_THAT(html, HasSubstr(std::string(part)));
}

TEST(ReportHtmlForm, HostileTextIsEscaped) {
  const std::string hostile =
      Cat("<script>alert(1)</script>\" onload='x' </style><img "
          "src=x>\n\x1b[31m\u202Egnp.exe\xff\xC0\x80",
          std::string(10'000, 'A'));
  VectorHistory history;
  history.Edit("j", [&](auto* job) {
    FillJob(job, 2, 12);
    job->life.name = hostile;
    job->life.owner = hostile;
    for (auto& [id, source] : job->life.sources) source.node = hostile;
    for (VectorHistory::Column& column : job->columns)
      column.labels = column.labels.With("node", hostile).With("hw_id", hostile);
    job->columns.push_back(VectorHistory::ColumnOf(
        {{kMetricName, "train_feature_importance_ratio"}, {"feature", hostile}, {"type", hostile}},
        {12}, {1}, {1}));
    for (const char* name : {"train_confusion_samples", "train_metric"})
      job->columns.push_back(VectorHistory::ColumnOf(
          {{kMetricName, name}, {"label", hostile}, {"prediction", hostile}, {"data", hostile}},
          {12}, {1}, {1}));
    job->columns.push_back(VectorHistory::ColumnOf(
        {{kMetricName, "train_phase_duration_seconds"}, {"rank", "0"}, {"phase", hostile}}, {11},
        {0.1}, {0}));
    for (const auto kind : {Span::Kind::kOperator, Span::Kind::kPhase})
      job->spans.push_back({"a",
                            hostile,
                            0,
                            {kind, hostile, EventTime::FromNs(AtSecond(11)),
                             EventTime::FromNs(AtSecond(12)), 1, "train"}});
    IssueEvent event = IssueAt("p/g/Slow", EventType::kIssueFound, 1, 14);
    event.labels = Labels{{"node", hostile}};
    event.severity = event.summary = event.description = event.suggestion = hostile;
    event.evidence = {{hostile, Labels{{"a", hostile}}, 2}};
    event.parameters = {{hostile, 1}};
    job->events.push_back(std::make_shared<IssueEvent>(event));
    IssueEvent status;
    status.type = EventType::kRuleStatus;
    status.rule = status.status_reason = hostile;
    job->events.push_back(std::make_shared<IssueEvent>(status));
    ActionEvent action;
    action.rule = action.why = action.effect = hostile;
    job->actions.push_back(action);
    RankCapture capture;
    capture.node = capture.principal = capture.look.phase = hostile;
    capture.look.threads = {{.name = hostile, .frames = {hostile}}};
    job->captures.push_back(capture);
  });
  const StatusOr<Document> report = MakeReport({.history = &history,
                                                .job = *history.FindJob("j"),
                                                .version = hostile,
                                                .link = "javascript:alert(1)"});
  ASSERT_TRUE(report.ok()) << report.status();
  const std::string html = ReportHtml(*report);
  ExpectInert(html);
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;&quot; onload=&#39;x&#39;"));
  EXPECT_THAT(html, HasSubstr("[U+202E]gnp.exe\uFFFD\uFFFD\uFFFD"));
  EXPECT_THAT(html, Not(HasSubstr("javascript")));
  // JSON keeps the text unchanged.
  EXPECT_THAT(ReportJson(*report), HasSubstr("<script>alert(1)</script>\\\" onload='x'"));
}

TEST(ReportHtmlForm, OnlyHttpLinksAreWritten) {
  Document document;
  document.link = "https://pitwall.example/jobs/1?a=\"b\"";
  EXPECT_THAT(ReportHtml(document),
              HasSubstr("<a href=\"https://pitwall.example/jobs/1?a=&quot;b&quot;\">"));
  ExpectInert(ReportHtml(document));
  document.link = "/jobs/1";  // a local file cannot contain a relative link
  EXPECT_THAT(ReportHtml(document), Not(HasSubstr("Open the job page")));
}

TEST(ReportHtmlForm, NumbersMatchJson) {
  Document document;
  Section section{"s", "S", false, {}};
  section.blocks.push_back(Table{
      "t",
      "T",
      {{"a", "A", Unit::kNumber}, {"b", "B", Unit::kTime}, {"c", "C"}},
      {{0.123456789, int64_t{1'767'225'600'000'000'001}, std::string("x")}, {NAN, Cell(), Cell()}},
      {Unit::kRatio},
      3});
  document.sections.push_back(section);
  const std::string json = ReportJson(document), html = ReportHtml(document);
  EXPECT_THAT(json, HasSubstr("[[0.123456789,\"1767225600000000001\",\"x\"],[null,null,null]]"));
  EXPECT_THAT(json, HasSubstr("\"left_out\":3"));
  EXPECT_THAT(html, HasSubstr("<td class=\"n\" title=\"0.123456789\">12.3%</td>"));
  EXPECT_THAT(html, HasSubstr("title=\"2026-01-01T00:00:00.000000001Z\">2026-01-01 00:00:00</td>"));
  EXPECT_THAT(html, HasSubstr("3 more rows not shown"));
}

TEST(ReportHtmlForm, NumbersAreReadable) {
  EXPECT_EQ(Shown(Cell(0.0312), Unit::kRatio), "3.12%");
  EXPECT_EQ(Shown(Cell(0.5), Unit::kRatio), "50.0%");
  EXPECT_EQ(Shown(Cell(0.0005), Unit::kSeconds), "500 µs");
  EXPECT_EQ(Shown(Cell(0.25), Unit::kSeconds), "250 ms");
  EXPECT_EQ(Shown(Cell(59.5), Unit::kSeconds), "59.5 s");
  EXPECT_EQ(Shown(Cell(3725.0), Unit::kSeconds), "1 h 2 min");
  EXPECT_EQ(Shown(Cell(2.0 * 86'400), Unit::kSeconds), "2 d 0 h");
  EXPECT_EQ(Shown(Cell(int64_t{1234567}), Unit::kCount), "1,234,567");
  EXPECT_EQ(Shown(Cell(-12345.6), Unit::kNumber), "-12,346");
  EXPECT_EQ(Shown(Cell(), Unit::kCount), "–");
  EXPECT_EQ(Shown(Cell(std::string()), Unit::kText), "–");
}

TEST(ReportSvg, DrawsGapsAndThreshold) {
  LineChart chart{"c", "C", Unit::kStep, Unit::kNumber, {{"l", {0, 1, 2, 3}, {0, NAN, 5, 10}}},
                  7.5, {}};
  const std::string svg = SvgOf(chart);
  // The plot extends from y = 170 (value 0) to y = 8 (value 10), so 7.5 is at 170 - 0.75 * 162.
  EXPECT_THAT(svg, HasSubstr("class=\"limit\" data-threshold=\"7.5\" d=\"M64.0 48.5H708.0\""));
  EXPECT_THAT(svg, HasSubstr("d=\"M64.0 170.0h0M493.3 89.0L708.0 8.0\""));
  chart.lines[0].y = {NAN, NAN, NAN, NAN};
  chart.threshold.reset();
  EXPECT_EQ(SvgOf(chart), "");
}

TEST(ReportSvg, ExtremeNumbersHaveFiniteCoordinates) {
  for (const double value : {0.0, -1e300, 1e300, 5e-324, -3.0}) {
    const LineChart chart{"c", "C", Unit::kTime, Unit::kNumber, {{"l", {5}, {value}}}, value, {}};
    const std::string svg = SvgOf(chart);
    EXPECT_THAT(svg, Not(HasSubstr("nan"))) << value;
    EXPECT_THAT(svg, Not(HasSubstr("inf"))) << value;
  }
  const BoxChart boxes{"b", "B", Unit::kRatio, {{"x", 0, 0, 0, 0, 0, 0, 0}}};
  EXPECT_THAT(SvgOf(boxes), Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace pitwall::history
