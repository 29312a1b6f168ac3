// Test fixture that sends API requests to a history with one small job and every kind of data.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/adapters/http/router.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/history/api/api_routes.h"
#include "services/history/testing/vector_history.h"
#include "services/model/value.h"
#include "tests/fakes/fake_clock.h"

namespace pitwall::history {

// Returns text that contains markup, a right-to-left override, quotes, line breaks, and 10 kB of
// letters.
inline std::string HostileText() {
  return Cat("<script>alert('x')</script>\"\\\n\r\t \xE2\x80\xAE gnp.exe ",
             std::string(10'000, 'A'));
}

// Escapes the right-to-left override, which the YAML reader accepts only as an escape sequence.
inline std::string WithEscapedOverride(std::string json) {
  constexpr std::string_view kOverride = "\xE2\x80\xAE";
  for (size_t at = 0; (at = json.find(kOverride, at)) != std::string::npos;)
    json.replace(at, kOverride.size(), "\\u202e");
  return json;
}

class FakeKeeper final : public HistoryAdmin {
 public:
  explicit FakeKeeper(VectorHistory* history) : history_(history) {}
  Status DeleteJob(std::string_view job) override {
    const StatusOr<JobLifePtr> life = history_->FindJob(job);
    if (!life.ok()) return life.status();
    if ((*life)->ended_ns == 0)
      return FailedPrecondition(Cat("job: still running (", Quote(job), "); stop it first"));
    history_->Erase(std::string(job));
    return OkStatus();
  }
  Status ArchiveJob(std::string_view job, const std::string& folder) override {
    archived.emplace_back(job, folder);
    return OkStatus();
  }
  std::vector<std::pair<std::string, std::string>> archived;

 private:
  VectorHistory* const history_;
};

class FakeCaptures final : public CaptureSource {
 public:
  StatusOr<std::string> RequestCapture(CaptureRequest request) override {
    asked.push_back(std::move(request));
    return std::string("request-2");
  }
  StatusOr<std::vector<RankCapture>> Find(const CaptureQuery&) override {
    return std::vector<RankCapture>();
  }
  std::vector<CaptureRequest> asked;
};

inline IssueEvent TestIssue(std::string rule, EventType type, uint64_t sequence, double second) {
  IssueEvent event;
  event.type = type;
  event.job = "job-1";
  event.rule = std::move(rule);
  event.alert = "Alert";
  event.severity = "warning";
  event.labels = Labels{{"alertname", "Alert"}, {"rank", "1"}};
  event.sequence = sequence;
  event.active_since = EventTime::FromNs(AtSecond(1));
  event.started_at = EventTime::FromNs(AtSecond(2));
  event.last_seen_at = EventTime::FromNs(AtSecond(second));
  event.time = EventTime::FromNs(AtSecond(second));
  if (type == EventType::kIssueResolved) event.ended_at = EventTime::FromNs(AtSecond(second));
  event.value = NormalNan();
  if (type != EventType::kIssueResolved) event.threshold = 0.5;
  event.evidence = {{"m", Labels{{"rank", "1"}}, INFINITY}};
  event.incident = "incident-1";
  event.summary = HostileText();
  event.id = MakeEventId(event);
  return event;
}

inline void FillTestJob(VectorHistory::Job* job) {
  JobOverview& life = job->life;
  life.name = HostileText();
  life.owner = "uid:1000";
  life.reference.platform = "process";
  life.first_ns = AtSecond(0);
  life.last_ns = AtSecond(60);
  life.started_ns = AtSecond(0);
  life.ended_ns = AtSecond(60);
  life.end_detail = EndDetail::kFailed;
  life.end_text = "failed";
  AttemptLife attempt;
  attempt.attempt = 1;
  attempt.began_ns = AtSecond(0);
  attempt.ended_ns = AtSecond(60);
  attempt.first_step_ns = AtSecond(1);
  attempt.last_step_ns = AtSecond(50);
  attempt.lost = {{AtSecond(55), LostRank{.rank = 1, .node = "n1", .signal = 9}}};
  life.attempts = {attempt};
  life.sources["a"] = {.source = "a",
                       .node = "n1",
                       .rank = 0,
                       .first_ns = AtSecond(0),
                       .last_ns = AtSecond(60),
                       .interval_ns = 500'000'000,
                       .goodbye = true};
  life.sources["n"] = {.source = "n", .node = "n1"};
  life.found["default/x/Alert"] = 1;
  life.samples = 123;
  const auto add = [&](VectorHistory::Column column) { job->columns.push_back(std::move(column)); };
  std::vector<double> seconds, ratios;
  for (int s = 0; s < 60; ++s) {
    seconds.push_back(s);
    ratios.push_back(s == 7 ? NormalNan() : s == 8 ? INFINITY : s / 100.0);
  }
  for (const char* gpu : {"0", "1"}) {
    add(VectorHistory::ColumnOf(
        {{"__name__", "hw_gpu_utilization_ratio"}, {"node", "n1"}, {"gpu", gpu}}, seconds, ratios));
  }
  add(VectorHistory::ColumnOf({{"__name__", "system_cpu_utilization_ratio"},
                               {"node", "n1"},
                               {"cpu", "0"},
                               {"mode", "idle"}},
                              seconds, std::vector<double>(60, 0.25)));
  add(VectorHistory::ColumnOf({{"__name__", "hostile"}, {"text", HostileText()}}, {1}, {1}));
  for (int rank = 0; rank < 2; ++rank) {
    const Labels base = {{"rank", Cat(rank)}};
    const auto named = [&](std::string_view name) { return base.With("__name__", name); };
    add(VectorHistory::ColumnOf(named("train_step_duration_seconds"), {1, 2, 3},
                                {1, 1, rank == 1 ? 1.5 : 1}, {0, 1, 2}));
    add(VectorHistory::ColumnOf(named("train_phase_duration_seconds").With("phase", "forward"),
                                {1, 2, 3}, {0.5, 0.5, 0.5}, {0, 1, 2}));
    add(VectorHistory::ColumnOf(named("train_tensor_mean")
                                    .With("tensor", "w")
                                    .With("mode", "train")
                                    .With("collection", "weights"),
                                {1, 2}, {1, NormalNan()}, {0, 1}));
    job->spans.push_back({"a",
                          "n1",
                          rank,
                          {Span::Kind::kStep, "", EventTime::FromNs(AtSecond(0)),
                           EventTime::FromNs(AtSecond(1)), 0, "train"}});
    job->spans.push_back({"a",
                          "n1",
                          rank,
                          {Span::Kind::kOperator, HostileText(), EventTime::FromNs(AtSecond(0.25)),
                           EventTime::FromNs(AtSecond(0.5)), 0, "train"}});
  }
  job->spans.push_back({"a",
                        "n1",
                        -1,
                        {Span::Kind::kPhase, "save", EventTime::FromNs(AtSecond(9)),
                         EventTime::FromNs(AtSecond(10)), kNoStep, ""}});
  const auto found = TestIssue("default/x/Alert", EventType::kIssueFound, 1, 2);
  job->events.push_back(std::make_shared<IssueEvent>(found));
  job->events.push_back(
      std::make_shared<IssueEvent>(TestIssue("default/x/Alert", EventType::kIssueResolved, 2, 9)));
  job->events.push_back(
      std::make_shared<IssueEvent>(TestIssue("default/y/Other", EventType::kIssueFound, 1, 4)));
  IssueEvent status;
  status.type = EventType::kRuleStatus;
  status.job = "job-1";
  status.rule = "default/x/Alert";
  status.time = EventTime::FromNs(AtSecond(3));
  status.status = RuleStatus::kNoData;
  status.status_reason = "series not found";
  status.id = MakeEventId(status);
  job->events.push_back(std::make_shared<IssueEvent>(status));
  ActionEvent action;
  action.issue = IssueId(found);
  action.issue_event = found.id;
  action.job = "job-1";
  action.rule = found.rule;
  action.time = EventTime::FromNs(AtSecond(2));
  action.id = MakeActionId(action);
  job->actions.push_back(action);
  for (const bool taken : {true, false}) {
    job->notifications.push_back({.id = Cat("notification-", taken ? 1 : 2),
                                  .job = "job-1",
                                  .issues = {IssueId(found)},
                                  .receiver = taken ? "team" : "pager",
                                  .kind = "webhook",
                                  .what = "found",
                                  .taken = taken,
                                  .error = taken ? "" : "status 404",
                                  .time = EventTime::FromNs(AtSecond(3))});
  }
  RankCapture capture;
  capture.request = "request-1";
  capture.job = "job-1";
  capture.node = "n1";
  capture.time = EventTime::FromNs(AtSecond(5));
  capture.source = "system";
  capture.look.threads = {{.id = 7, .name = "main", .main = true, .frames = {"f (x.py:1)"}}};
  job->captures.push_back(capture);
}

// Runs API handlers with authorized requests, without a socket.
class ApiTest : public ::testing::Test {
 protected:
  ApiTest() : keeper_(&history_) {
    history_.Edit("job-1", FillTestJob);
    options_.history = &history_;
    options_.keeper = &keeper_;
    options_.clock = &clock_;
    options_.tokens = {.view = "see", .act = "do"};
    options_.sessions = std::make_shared<http::CookieSessions>(&clock_);
    options_.archive_dir = "/archives";
    options_.version = "1.2.3";
    options_.rules = [](const JobOverview&) {
      RuleDefinition rule;
      rule.rule = "default/x/Alert";
      rule.description = HostileText();
      rule.needs = {"train_step_duration_seconds"};
      rule.parameters = {{"limit", "3", "steps", "How many.", "0.3", "set"}};
      return RuleDefinitions{{rule.rule, rule}};
    };
  }

  http::HttpResponse Ask(std::string_view method, std::string_view target,
                         http::HttpRequest request = {}) const {
    const http::Router router = *http::Router::Make(Routes(options_));
    request.method = method;
    EXPECT_TRUE(http::ParseTarget(Cat(kApiPrefix, target), &request)) << target;
    const http::Router::Match match = router.Find(method, request.path);
    EXPECT_NE(match.route, nullptr) << method << " " << target;
    return match.route == nullptr ? http::HttpResponse() : match.route->handler(request);
  }
  http::HttpResponse Get(std::string_view target) const { return Ask("GET", target); }

  fakes::FakeClock clock_;
  VectorHistory history_;
  FakeKeeper keeper_;
  ApiOptions options_;
};

}  // namespace pitwall::history
