// Tests for queries in rule templates, run through a complete job. The queries are compiled into
// the program and evaluated at the tick that opens the issue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/plan/compile.h"
#include "services/base/text/strings.h"
#include "services/engine/domain/clock_domain.h"
#include "services/engine/program/counters.h"

namespace pitwall::engine {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kSecond = 1'000'000'000;

TEST(TemplateQuery, QueryIsEvaluatedAtTick) {
  const RuleSetFile file{"p.yaml", R"yaml(groups:
- name: g
  interval: 1s
  rules:
  - record: total
    expr: sum(m)
  - alert: A
    expr: m > 1
    labels: {others: '{{ query "m" | len }}'}
    annotations:
      summary: >-
        {{ $labels.x }}: {{ $value }} of {{ query "total" | first | value }},
        highest {{ query "max_over_time(sum(m)[3s:1s])" | first | value }},
        also{{ range query "m" }}{{ if ne .Labels.x $labels.x }} {{ .Labels.x }}={{ .Value }}{{ end }}{{ end }}
)yaml"};
  auto program = plan::CompileRules({&file, 1});
  ASSERT_TRUE(program.ok()) << program.status();
  EngineCounters counters;
  ClockDomain runner(*program, 0, EngineOptions{}, &counters);
  runner.ticks().SetOrigin(Position::FromNs(kSecond));
  window::SeriesStore& store = *runner.store();
  std::vector<window::SeriesId> ids;
  for (const char* x : {"a", "b", "c"})
    ids.push_back(*store.Intern(Labels::FromPairs({{"__name__", "m"}, {"x", x}})));
  const JobIdentity job;
  std::vector<std::string> said;
  const double rows[][3] = {{1, 0, 0.5}, {1, 0, 1}, {0, 5, 0.25}};
  for (int64_t t = 1; t <= 3; ++t) {
    ASSERT_TRUE(store
                    .Append({Position::FromNs(t * kSecond), "s", "", static_cast<uint64_t>(t), 0},
                            ids, rows[t - 1])
                    .ok());
    EventSink out;
    runner.Evaluate(
        {.position = Position::FromNs(t * kSecond), .time = EventTime::FromNs(t * kSecond)}, job,
        &out);
    for (const IssueEvent& event : out.events) {
      if (event.type == EventType::kIssueFound)
        said.push_back(Cat(event.labels.ToString(), " ", event.summary));
    }
  }
  EXPECT_THAT(said, ElementsAre("{alertname=\"A\",others=\"3\",x=\"b\"} b: 5 of 5.25, highest "
                                "5.25, also a=0 c=0.25"));
}

}  // namespace
}  // namespace pitwall::engine
