// Tests for the routes' responses to valid and invalid requests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "services/history/api/testing/api_fixture.h"
#include "services/history/api/testing/schema_check.h"

namespace pitwall::history {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

using Api = ApiTest;

yaml::Node Parsed(const http::HttpResponse& response) {
  StatusOr<yaml::Node> node = yaml::ParseYaml("answer", WithEscapedOverride(response.body));
  EXPECT_TRUE(node.ok()) << node.status();
  return node.ok() ? *node : yaml::Node();
}

std::string TextAt(const yaml::Node& node, std::string_view path) {
  const yaml::Node* at = &node;
  for (const std::string_view part : Split(path, '/')) {
    const std::optional<int64_t> index = ParseInt(part);
    if (at->IsSequence() && index && static_cast<size_t>(*index) < at->items().size()) {
      at = &at->items()[static_cast<size_t>(*index)];
    } else {
      at = at->Find(part);
    }
    if (at == nullptr) return "(missing)";
  }
  return at->IsNull() ? "null" : at->scalar();
}

TEST_F(Api, BadRequest_ErrorNamesParameterAndCause) {
  struct Bad {
    std::string_view target;
    int status;
    std::string_view place, message;
  };
  const Bad all[] = {
      {"/job", 400, "job", "job: missing; add the parameter job"},
      {"/job?job=nothing", 404, "job", "job: not found (\\\"nothing\\\")"},
      {"/jobs?limit=0", 400, "limit",
       "limit: must be an integer between 1 and 1000 (got \\\"0\\\")"},
      {"/jobs?limit=x", 400, "limit", "1000 (got \\\"x\\\")"},
      {"/jobs?limit=1&limit=2", 400, "limit", "limit: must not be repeated"},
      {"/jobs?sort=size", 400, "sort", "must be one of last, started"},
      {"/jobs?color=red", 400, "\\\"color\\\"", "this route accepts name, owner, state"},
      {"/chart?job=job-1", 400, "match", "match: missing"},
      {"/chart?job=job-1&match=a&width=5000", 400, "width", "between 3 and 4096"},
      {"/chart?job=job-1&match=a%7Bb", 400, "match", "match: must be a selector"},
      {"/chart?job=job-1&match=rate(a%5B1m%5D)", 400, "match", "match: must be a selector"},
      {"/chart?job=job-1&match=a%5B1m%5D", 400, "match", "match: must be a selector"},
      {"/chart?job=job-1&match=a%20offset%201m", 400, "match", "match: must be a selector"},
      {"/chart?job=job-1&match=a%7Bb=~%22(%22%7D", 400, "match", "match"},
      {"/chart?job=job-1&match=a&mode=train", 400, "axis", "axis: must be step"},
      {"/chart?job=job-1&match=a&from=yesterday", 400, "from", "or an RFC 3339 time"},
      {"/chart?job=job-1&match=a&from=20&to=10", 400, "from", "from: must be earlier than to"},
      {"/chart?job=job-1&match=a&from=99999999999999999999", 400, "from",
       "from: must be nanoseconds"},
      {"/spans?job=job-1&kind=leap", 400, "kind", "must be step, phase, or operator"},
      {"/spans?job=job-1&from_step=3&to_step=3", 400, "from_step", "must be less than to_step"},
      {"/samples?job=job-1&match=a&from_step=3", 400, "mode", "steps belong to a mode"},
      {"/issue?job=job-1&id=zz", 404, "id", "id: not found"},
      {"/what-if?job=job-1&rank=-1", 400, "rank", "must be an integer between 0"},
      {"/stream?topics=all", 400, "topics", "must be one or more of"},
      {"/stream?last_event_id=-4", 400, "last_event_id", "must be the ID of an event"},
      {"/nothing", 404, "path", "path: not found"},
  };
  for (const Bad& bad : all) {
    const http::HttpResponse response = Get(bad.target);
    EXPECT_EQ(response.status, bad.status) << bad.target;
    EXPECT_EQ(response.content_type, "application/json") << bad.target;
    EXPECT_THAT(response.body, HasSubstr(Cat("\"place\":\"", bad.place, "\"}"))) << bad.target;
    EXPECT_THAT(response.body, HasSubstr(bad.message)) << bad.target;
  }
}

TEST_F(Api, TimesAreStringsAndNonFiniteNumbersAreNull) {
  const yaml::Node answer =
      Parsed(Get("/samples?job=job-1&match=hw_gpu_utilization_ratio%7Bgpu=%220%22%7D"));
  EXPECT_EQ(TextAt(answer, "series/0/times_ns/0"), Cat(kTestStart));
  EXPECT_EQ(TextAt(answer, "series/0/values/6"), "0.06");
  EXPECT_EQ(TextAt(answer, "series/0/values/7"), "null");  // NaN
  EXPECT_EQ(TextAt(answer, "series/0/values/8"), "null");  // +Inf
  EXPECT_EQ(TextAt(answer, "series/0/steps"), "null");
  // Events have the same format as in the issues topic.
  const http::HttpResponse issue = Get("/issues?job=job-1&state=ended");
  EXPECT_EQ(TextAt(Parsed(issue), "issues/0/value"), "null");
  EXPECT_EQ(TextAt(Parsed(issue), "issues/0/event/data/value"), "NaN");
}

TEST_F(Api, TextWithMarkupIsReturnedUnchanged) {
  const yaml::Node series = Parsed(Get("/series?job=job-1&match=hostile"));
  EXPECT_EQ(TextAt(series, "series/0/labels/text"), HostileText());
  EXPECT_EQ(TextAt(Parsed(Get("/jobs")), "jobs/0/name"), HostileText());
  EXPECT_EQ(TextAt(Parsed(Get("/operators?job=job-1")), "operators/0/name"), HostileText());
  const http::HttpResponse issues = Get("/issues?job=job-1");
  EXPECT_EQ(TextAt(Parsed(issues), "issues/0/summary"), HostileText());
  for (const char c : issues.body) ASSERT_GE(static_cast<unsigned char>(c), 0x20);
}

TEST_F(Api, ControlCharactersAreEscaped) {
  history_.Edit("job-2", [](auto* job) { job->life.name = "a\x1b[31m\x7f\x01z"; });
  EXPECT_THAT(Get("/job?job=job-2").body, HasSubstr("\"a\\u001b[31m\\u007f\\u0001z\""));
}

TEST_F(Api, InvalidUtf8IsReplaced) {
  history_.Edit("job-2", [](auto* job) { job->life.name = "a\xff\xfez"; });
  EXPECT_THAT(Get("/job?job=job-2").body, HasSubstr("a\xEF\xBF\xBD\xEF\xBF\xBDz"));
}

TEST_F(Api, PagesCoverListWithoutOverlap) {
  for (const std::string_view route :
       {"/series?job=job-1&", "/spans?job=job-1&", "/steps?job=job-1&", "/issues?job=job-1&"}) {
    const auto rows = [&](const yaml::Node& answer) {
      std::vector<std::string> out;
      const yaml::Node* list = &answer.entries()[0].value;
      if (route.substr(0, 6) == "/spans") list = list->Find("start_ns");
      if (route.substr(0, 6) == "/steps") list = answer.Find("rows");
      EXPECT_NE(list, nullptr);
      for (const yaml::Node& item : list->items()) {
        std::string text = item.scalar();
        for (const auto& entry : item.entries()) CatTo(text, entry.value.scalar(), ",");
        if (item.Find("labels") != nullptr)
          for (const auto& entry : item.Find("labels")->entries()) text += entry.value.scalar();
        out.push_back(text);
      }
      return out;
    };
    const std::vector<std::string> all = rows(Parsed(Get(Cat(route, "limit=1000"))));
    EXPECT_GE(all.size(), 2U) << route;
    std::vector<std::string> paged;
    std::string page;
    do {
      const yaml::Node answer =
          Parsed(Get(Cat(route, "limit=2", page.empty() ? "" : "&page=", page)));
      const auto some = rows(answer);
      EXPECT_LE(some.size(), 2U);
      paged.insert(paged.end(), some.begin(), some.end());
      page = TextAt(answer, "next");
    } while (page != "null");
    EXPECT_EQ(all, paged) << route;
    EXPECT_EQ(rows(Parsed(Get(Cat(route, "page=100000")))).size(), 0U);
  }
}

TEST_F(Api, JobsAreFilteredAndSorted) {
  for (const auto& [id, samples, ended] :
       {std::tuple("a-2", 7, true), std::tuple("b-3", 9, false), std::tuple("c-4", 8, false)}) {
    history_.Edit(id, [&samples = samples, &ended = ended](auto* job) {
      job->life.samples = static_cast<uint64_t>(samples);
      job->life.ended_ns = ended ? AtSecond(1) : 0;
    });
  }
  const auto ids = [&](std::string_view query) {
    std::string out;
    const yaml::Node answer = Parsed(Get(Cat("/jobs?", query)));
    for (const yaml::Node& job : answer.Find("jobs")->items())
      CatTo(out, job.Find("id")->scalar(), " ");
    return out;
  };
  EXPECT_EQ(ids("sort=samples"), "job-1 b-3 c-4 a-2 ");
  EXPECT_EQ(ids("sort=samples&order=asc"), "a-2 c-4 b-3 job-1 ");
  EXPECT_EQ(ids("sort=samples&state=running"), "b-3 c-4 ");
  EXPECT_EQ(ids("sort=samples&state=ended"), "job-1 a-2 ");
  EXPECT_EQ(ids("name=-3"), "b-3 ");
  EXPECT_EQ(ids("owner=uid:1000"), "job-1 ");
  EXPECT_EQ(ids("name=nothing"), "");
  // Node pseudo-jobs are last in both sort orders.
  history_.Edit("node:a", [](auto* job) { job->life.samples = 1000; });
  EXPECT_EQ(ids("sort=samples"), "job-1 b-3 c-4 a-2 node:a ");
  EXPECT_EQ(ids("sort=samples&order=asc"), "a-2 c-4 b-3 job-1 node:a ");
}

TEST_F(Api, UnchangedResponse_ReturnsNotModified) {
  const http::HttpResponse first = Get("/job?job=job-1");
  std::string tag;
  for (const auto& [name, value] : first.headers) {
    if (name == "ETag") tag = value;
  }
  ASSERT_THAT(tag, SizeIs(34));
  const auto again = [&](std::string if_none_match) {
    http::HttpRequest request;
    request.headers = {{"if-none-match", std::move(if_none_match)}};
    return Ask("GET", "/job?job=job-1", request);
  };
  EXPECT_EQ(again(tag).status, 304);
  EXPECT_THAT(again(tag).body, IsEmpty());
  EXPECT_EQ(again(Cat("\"other\", W/", tag)).status, 304);
  EXPECT_EQ(again("\"other\"").status, 200);
  history_.Edit("job-1", [](auto* job) { ++job->life.samples; });
  EXPECT_EQ(again(tag).status, 200);
}

TEST_F(Api, BinaryChartEqualsJsonChart) {
  const std::string target = "/chart?job=job-1&match=hw_gpu_utilization_ratio&width=7";
  const yaml::Node json = Parsed(Get(target));
  const http::HttpResponse binary = Get(target + "&format=binary");
  EXPECT_EQ(binary.content_type, "application/vnd.pitwall.columns");
  const std::string& bytes = binary.body;
  ASSERT_EQ(bytes.substr(0, 4), "PWC1");
  uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 4, 4);
  const yaml::Node header = *yaml::ParseYaml("header", bytes.substr(8, length));
  for (const std::string_view key : {"from_ns", "to_ns", "tier", "reduction", "bucket_ns"})
    EXPECT_EQ(TextAt(header, key), TextAt(json, key));
  size_t at = (8 + length + 7) / 8 * 8;
  const auto read = [&](auto* value) {
    ASSERT_LE(at + sizeof *value, bytes.size());
    std::memcpy(value, bytes.data() + at, sizeof *value);
    at += sizeof *value;
  };
  for (int series = 0; series < 2; ++series) {
    const int rows = std::stoi(TextAt(header, Cat("series/", series, "/rows")));
    EXPECT_GE(rows, 6);
    for (int row = 0; row < rows; ++row) {
      double ms = 0;
      read(&ms);
      EXPECT_EQ(ms, std::stod(TextAt(json, Cat("series/", series, "/times_ns/", row))) / 1e6);
    }
    for (const std::string_view key : {"min", "max", "last"}) {
      for (int row = 0; row < rows; ++row) {
        float value = 0;
        read(&value);
        const std::string text = TextAt(json, Cat("series/", series, "/", key, "/", row));
        if (text == "null") {
          EXPECT_FALSE(std::isfinite(value));
        } else {
          EXPECT_EQ(value, static_cast<float>(std::stod(text)));
        }
      }
    }
    at = (at + 7) / 8 * 8;
  }
  EXPECT_EQ(at, bytes.size());
}

TEST_F(Api, DeleteRequiresCompleteId) {
  EXPECT_EQ(Ask("DELETE", "/job?job=job").status, 400);  // not the complete ID
  EXPECT_EQ(Ask("DELETE", "/job?job=job-1").status, 200);
  EXPECT_EQ(Ask("DELETE", "/job?job=job-1").status, 404);
  history_.Edit("runs", [](auto*) {});
  const http::HttpResponse running = Ask("DELETE", "/job?job=runs");
  EXPECT_EQ(running.status, 409);
  EXPECT_THAT(running.body, HasSubstr("still running"));
  options_.keeper = nullptr;
  EXPECT_EQ(Ask("DELETE", "/job?job=runs").status, 409);
}

TEST_F(Api, ArchiveIsWrittenToConfiguredFolder) {
  EXPECT_EQ(Ask("POST", "/job/archive?job=job-1").status, 200);
  EXPECT_EQ(Ask("POST", "/job/archive?job=job-1&name=kept.1").status, 200);
  for (const std::string_view bad : {"..%2Fx", "%2Fetc", ".", "..", ".hidden", "a%2Fb", "a%20b"}) {
    EXPECT_EQ(Ask("POST", Cat("/job/archive?job=job-1&name=", bad)).status, 400) << bad;
  }
  ASSERT_THAT(keeper_.archived, SizeIs(2));
  EXPECT_EQ(keeper_.archived[0].second, "/archives/job-1");
  EXPECT_EQ(keeper_.archived[1].second, "/archives/kept.1");
  history_.Edit("../../x y", [](auto*) {});
  EXPECT_EQ(Ask("POST", "/job/archive?job=..%2F..%2Fx%20y").status, 200);
  EXPECT_EQ(keeper_.archived[2].second, "/archives/______x_y");
  options_.archive_dir.clear();
  EXPECT_EQ(Ask("POST", "/job/archive?job=job-1").status, 409);
}

TEST_F(Api, LinksStartWithExternalUrl) {
  const std::string id = IssueId(TestIssue("default/y/Other", EventType::kIssueFound, 1, 4));
  EXPECT_EQ(TextAt(Parsed(Get("/issues?job=job-1&state=open")), "issues/0/link"),
            Cat("/jobs/job-1?issue=", id));
  options_.external_url = "https://pitwall.example/";
  EXPECT_EQ(TextAt(Parsed(Get("/issues?job=job-1&state=open")), "issues/0/link"),
            Cat("https://pitwall.example/jobs/job-1?issue=", id));
  EXPECT_EQ(TextAt(Parsed(Get("/job?job=job-1")), "link"), "https://pitwall.example/jobs/job-1");
}

TEST_F(Api, FiltersIssuesAndReturnsTheirEvents) {
  const auto total = [&](std::string_view query) {
    return TextAt(Parsed(Get(Cat("/issues?job=job-1&", query))), "total");
  };
  EXPECT_EQ(total(""), "2");
  EXPECT_EQ(total("state=open"), "1");
  EXPECT_EQ(total("state=ended"), "1");
  // The issue's last event has no threshold.
  EXPECT_EQ(TextAt(Parsed(Get("/issues?job=job-1&state=ended")), "issues/0/threshold"), "0.5");
  EXPECT_EQ(total("rule=Alert"), "1");
  EXPECT_EQ(total("severity=critical"), "0");
  EXPECT_EQ(total("incident=incident"), "2");
  const std::string id = IssueId(TestIssue("default/x/Alert", EventType::kIssueFound, 1, 2));
  const yaml::Node issue = Parsed(Get(Cat("/issue?job=job-1&id=", id.substr(0, 10))));
  EXPECT_EQ(TextAt(issue, "id"), id);
  EXPECT_EQ(TextAt(issue, "open"), "false");
  EXPECT_THAT(issue.Find("events")->items(), SizeIs(2));
  EXPECT_THAT(issue.Find("actions")->items(), SizeIs(1));
  EXPECT_EQ(TextAt(issue, "events/1/type"), "io.pitwall.issue.resolved");
  // Both delivered and undelivered notifications are listed.
  EXPECT_THAT(issue.Find("notifications")->items(), SizeIs(2));
  EXPECT_EQ(TextAt(issue, "notifications/0/data/receiver"), "team");
  EXPECT_EQ(TextAt(issue, "notifications/1/type"), "io.pitwall.notification.failed");
  EXPECT_EQ(TextAt(issue, "notifications/1/data/error"), "status 404");
  const yaml::Node other = Parsed(Get(Cat("/issues?job=job-1&state=open")));
  const std::string open = TextAt(other, "issues/0/id");
  EXPECT_THAT(Parsed(Get(Cat("/issue?job=job-1&id=", open))).Find("notifications")->items(),
              SizeIs(0));
  EXPECT_THAT(Parsed(Get("/actions?job=job-1")).Find("notifications")->items(), SizeIs(2));
}

TEST_F(Api, ReportMatchesOtherRoutes) {
  const yaml::Node report = Parsed(Get("/report?job=job-1"));
  const auto block = [&](std::string_view id) -> const yaml::Node& {
    static const yaml::Node kNone;
    for (const yaml::Node& section : report.Find("sections")->items()) {
      for (const yaml::Node& one : section.Find("blocks")->items()) {
        if (one.Find("id")->scalar() == id) return one;
      }
    }
    ADD_FAILURE() << id;
    return kNone;
  };
  const auto fact = [&](std::string_view block_id, std::string_view key) {
    for (const yaml::Node& one : block(block_id).Find("facts")->items()) {
      if (one.Find("key")->scalar() == key) return TextAt(one, "value");
    }
    return std::string("(missing)");
  };
  const auto cell = [&](std::string_view table, size_t row, std::string_view key) {
    const auto& columns = block(table).Find("columns")->items();
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].Find("key")->scalar() == key)
        return TextAt(block(table), Cat("rows/", row, "/", i));
    }
    return std::string("(missing)");
  };
  const yaml::Node job = Parsed(Get("/job?job=job-1"));
  EXPECT_EQ(fact("job-facts", "start_ns"), TextAt(job, "started_ns"));
  EXPECT_EQ(fact("job-facts", "initialization_seconds"), TextAt(job, "summary/parts/0/seconds"));
  EXPECT_EQ(fact("job-facts", "loop_seconds"), TextAt(job, "summary/parts/1/seconds"));
  EXPECT_EQ(fact("job-facts", "loop_share"), TextAt(job, "summary/parts/1/share"));
  const yaml::Node resources = Parsed(Get("/resources?job=job-1"));
  size_t row = 0;
  for (const yaml::Node& node : resources.Find("nodes")->items()) {
    for (const yaml::Node& metric : node.Find("metrics")->items()) {
      for (const std::string_view key : {"min", "max", "p50", "p90", "p95", "p99", "count"})
        EXPECT_EQ(cell("resources", row, key), TextAt(metric, key)) << row << " " << key;
      ++row;
    }
  }
  EXPECT_GE(row, 2U);
  const yaml::Node operators = Parsed(Get("/operators?job=job-1&kind=operator"));
  EXPECT_EQ(cell("operators", 0, "share"), TextAt(operators, "operators/0/share"));
  EXPECT_EQ(cell("operators", 0, "count"), TextAt(operators, "operators/0/count"));
  const yaml::Node phases = Parsed(Get("/phases?job=job-1"));
  EXPECT_EQ(cell("phase-times", 0, "share"), TextAt(phases, "phases/0/share"));
  const yaml::Node rules = Parsed(Get("/rules?job=job-1"));
  EXPECT_EQ(cell("rules-found", 0, "found"), TextAt(rules, "rules/0/found"));
  const yaml::Node issues = Parsed(Get("/issues?job=job-1&state=open"));
  EXPECT_EQ(fact("issue-1-facts", "issue"), TextAt(issues, "issues/0/id"));
  EXPECT_EQ(fact("issue-1-facts", "threshold"), TextAt(issues, "issues/0/threshold"));
}

TEST_F(Api, ReportContainsNoScript) {
  const http::HttpResponse response = Get("/report?job=job-1&format=html");
  EXPECT_EQ(response.content_type, "text/html; charset=utf-8");
  std::string policy, disposition;
  for (const auto& [name, value] : response.headers) {
    if (name == "Content-Security-Policy") policy = value;
    if (name == "Content-Disposition") disposition = value;
  }
  EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
  EXPECT_THAT(policy, HasSubstr("sandbox"));
  EXPECT_EQ(disposition, "inline; filename=\"report-job-1.html\"");
  EXPECT_THAT(response.body, HasSubstr("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;"));
  EXPECT_THAT(response.body, Not(HasSubstr("<script")));
  EXPECT_EQ(Get("/report?job=job-1&format=pdf").status, 400);
}

TEST_F(Api, KnownRulesHaveDefinitions) {
  yaml::Node rules = Parsed(Get("/rules?job=job-1"));
  EXPECT_EQ(TextAt(rules, "rules/0/definition/parameters/0/default"), "3");
  EXPECT_EQ(TextAt(rules, "rules/1/rule"), "default/y/Other");
  EXPECT_EQ(TextAt(rules, "rules/1/definition"), "null");
  options_.rules = nullptr;
  EXPECT_EQ(TextAt(Parsed(Get("/rules?job=job-1")), "rules/0/definition"), "null");
}

TEST_F(Api, ParameterAt_ReturnsStateAtThatTime) {
  const std::string at = Cat("&at=", AtSecond(5));
  const yaml::Node job = Parsed(Get(Cat("/job?job=job-1", at)));
  EXPECT_EQ(TextAt(job, "state"), "running");
  EXPECT_EQ(TextAt(job, "last_ns"), Cat(AtSecond(5)));
  EXPECT_EQ(TextAt(job, "open_issues"), "2");  // one attempt ended at 9 s
  EXPECT_EQ(TextAt(job, "worst_severity"), "warning");
  EXPECT_EQ(TextAt(Parsed(Get(Cat("/issues?job=job-1&state=open", at))), "total"), "2");
  const yaml::Node samples =
      Parsed(Get(Cat("/samples?job=job-1&match=hw_gpu_utilization_ratio%7Bgpu=%220%22%7D", at)));
  EXPECT_THAT(samples.Find("series")->items()[0].Find("values")->items(), SizeIs(6));
  EXPECT_EQ(TextAt(Parsed(Get(Cat("/report?job=job-1", at))), "as_of_ns"), Cat(AtSecond(5)));
  EXPECT_EQ(TextAt(Parsed(Get("/job?job=job-1&at=2026-01-01T00:00:05Z")), "last_ns"),
            Cat(AtSecond(5)));
  EXPECT_EQ(Get("/job?job=job-1&at=soon").status, 400);
  EXPECT_EQ(Get("/job?job=job-1&at=1000").status, 404);
  EXPECT_EQ(Get("/jobs?at=1000").status, 400);  // lists do not accept a point in time
}

TEST_F(Api, EventsOfAllTopicsAreSortedByTime) {
  history_.Edit("job-1", [](VectorHistory::Job* job) {
    IssueEvent began = TestIssue("", EventType::kJobChanged, 3, 1);
    began.job_change = JobChange::kAttemptBegan;
    job->events.push_back(std::make_shared<IssueEvent>(began));
  });
  const yaml::Node all = Parsed(Get("/events?job=job-1"));
  std::vector<std::string> found;
  for (const yaml::Node& one : all.Find("events")->items()) {
    const int64_t ns = ParseInt(TextAt(one, "time_ns")).value_or(0) - kTestStart;
    found.push_back(Cat(TextAt(one, "topic"), " ", ns / kNanosPerSecond));
  }
  EXPECT_THAT(found, ElementsAre("job 1", "issue 2", "action 2", "status 3", "notification 3",
                                 "notification 3", "issue 4", "capture 5", "issue 9"));
  EXPECT_EQ(TextAt(all, "events/0/event/data/job_change"), JobChangeName(JobChange::kAttemptBegan));
  EXPECT_EQ(TextAt(all, "events/2/event/type"), "io.pitwall.action.decided");
  const auto total = [&](std::string_view query) {
    return TextAt(Parsed(Get(Cat("/events?job=job-1&", query))), "total");
  };
  EXPECT_EQ(total("topic=issue&topic=capture"), "4");
  EXPECT_EQ(total(Cat("from=", AtSecond(3), "&to=", AtSecond(5))), "4");
  EXPECT_EQ(total(Cat("at=", AtSecond(4.5))), "7");
  const yaml::Node last = Parsed(Get("/events?job=job-1&limit=4&page=8"));
  EXPECT_THAT(last.Find("events")->items(), SizeIs(1));
  EXPECT_EQ(TextAt(last, "next"), "null");
  EXPECT_EQ(TextAt(Parsed(Get("/events?job=job-1&limit=4&page=4")), "next"), "8");
}

}  // namespace
}  // namespace pitwall::history
