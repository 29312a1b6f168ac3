// Tests that several processes respond like a single process that stores all jobs, or report
// missing data.
#include "services/history/peers/fleet_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "services/history/peers/testing/fleet_fixture.h"
#include "services/model/value.h"

namespace pitwall::history {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

class FleetRoutesTest : public ::testing::TestWithParam<int> {
 protected:
  FleetRoutesTest() : fleet_(GetParam()) {
    for (int i = 0; i < kJobs; ++i) {
      fleet_.Edit(Id(i), [i](VectorHistory::Job* job) {
        job->life.id = Id(i);
        job->life.name = Cat("name of ", i);
        job->life.first_ns = AtSecond(0);
        job->life.last_ns = AtSecond(100 + i);
        job->life.reference.uid = "u";
        job->life.sources["s"] = {.source = "s", .node = "n", .rank = i};
        job->life.attempts.push_back({.attempt = 1, .began_ns = AtSecond(0)});
        job->life.found["a/b/C"] = 2;
        for (const char* rank : {"0", "1"}) {
          job->columns.push_back(
              VectorHistory::ColumnOf(Labels({{"__name__", "train_loss"}, {"rank", rank}}),
                                      {1, 2, 30, 60, 90}, {0.1 * i, 1, 2.5, NormalNan(), 1e300}));
        }
      });
    }
  }
  static std::string Id(int i) { return Cat("job ", i, "/ü"); }
  std::string EscapedId(int i) { return Cat("job%20", i, "/%C3%BC"); }
  // Returns the ID of a job that this process does not own.
  int Foreign(int process) const {
    for (int i = 0;; ++i) {
      if (fleet_.OwnerOf(Id(i)) != process) return i;
    }
  }
  template <typename F>
  void Await(F done) {
    const auto pause = fleet_.clock.NewWakeup();
    for (int i = 0; i < 5000 && !done(); ++i) pause->Wait(2 * kNanosPerMilli);
    ASSERT_TRUE(done());
  }

  static constexpr int kJobs = 9;
  TestFleet fleet_;
};

TEST_P(FleetRoutesTest, EveryProcessRespondsLikeSingleProcess) {
  std::vector<std::string> targets = {
      "/api/pitwall/v1/jobs",
      "/api/pitwall/v1/jobs?sort=name&order=asc&limit=4",
      "/api/pitwall/v1/jobs?state=running&name=name%20of%203",
      "/api/pitwall/v1/job?job=name%20of%205",
      "/api/pitwall/v1/job?job=job%207",
      "/api/pitwall/v1/job",
      "/api/pitwall/v1/nothing",
      Cat("/api/v1/query?query=train_loss&time=", kTestStart / kNanosPerSecond + 70),
      Cat("/api/v1/query?query=sum%20by%20(pitwall_job)%20(rate(train_loss[1m]))&time=",
          kTestStart / kNanosPerSecond + 60),
      Cat("/api/v1/query_range?query=avg(train_loss)&step=10&start=", kTestStart / kNanosPerSecond,
          "&end=", kTestStart / kNanosPerSecond + 100),
      "/api/v1/query?query=train_loss{",
      "/api/v1/series?match[]=train_loss&start=1767225600&end=1767225700",
      "/api/v1/labels",
      "/api/v1/label/pitwall_job/values",
      "/api/v1/rules",
      "/api/v1/alerts",
      "/api/v1/status/buildinfo",
  };
  for (int i = 0; i < kJobs; ++i) {
    for (const char* path :
         {"job?", "series?", "chart?match=train_loss&", "samples?match=train_loss&",
          "heatmap?match=train_loss&", "issues?", "steps?", "resources?"})
      targets.push_back(Cat("/api/pitwall/v1/", path, "job=", EscapedId(i)));
  }
  std::set<int> owners;
  for (int i = 0; i < kJobs; ++i) owners.insert(fleet_.OwnerOf(Id(i)));
  ASSERT_EQ(owners.size(), static_cast<size_t>(GetParam()));
  for (const std::string& target : targets) {
    const http::HttpResponse whole = Ask(fleet_.alone(), "GET", target);
    for (int i = 0; i < GetParam(); ++i) {
      const http::HttpResponse part = Ask(fleet_.router(i), "GET", target);
      EXPECT_EQ(part.status, whole.status) << target;
      EXPECT_EQ(part.body, whole.body) << target;
      EXPECT_EQ(part.content_type, whole.content_type) << target;
      EXPECT_EQ(part.headers, whole.headers) << target;
    }
  }
}

TEST_P(FleetRoutesTest, UnknownAndAmbiguousNamesAreRejected) {
  for (int i = 0; i < GetParam(); ++i) {
    const http::HttpResponse several = Ask(fleet_.router(i), "GET", "/api/pitwall/v1/job?job=job");
    EXPECT_EQ(several.status, 400);
    EXPECT_THAT(several.body, HasSubstr("9 jobs match"));
    const http::HttpResponse nobody =
        Ask(fleet_.router(i), "GET", "/api/pitwall/v1/job?job=nobody");
    EXPECT_EQ(nobody.status, 404);
    EXPECT_THAT(nobody.body, HasSubstr(R"("code":"not_found")"));
  }
}

TEST_P(FleetRoutesTest, MissingPeersAreReportedInResponse) {
  fleet_.network.SetDown(1, true);
  const http::HttpResponse jobs = Ask(fleet_.router(0), "GET", "/api/pitwall/v1/jobs");
  EXPECT_EQ(jobs.status, 200);
  EXPECT_THAT(jobs.body, HasSubstr(R"("missing":["jobs of peer 1 are missing: peer 1 (http://1) )"
                                   R"(does not respond: connection refused"]})"));
  const http::HttpResponse query =
      Ask(fleet_.router(0), "GET", "/api/v1/query?query=count(train_loss)&time=1767225670");
  EXPECT_EQ(query.status, 200);
  EXPECT_THAT(query.body, HasSubstr(R"("warnings":["jobs of peer 1 are missing: peer 1)"));
  // The response keeps the query's own warning.
  const http::HttpResponse both =
      Ask(fleet_.router(0), "GET", "/api/v1/query?query=quantile(2,train_loss)&time=1767225670");
  EXPECT_THAT(both.body, HasSubstr("quantile"));
  EXPECT_THAT(both.body, HasSubstr("jobs of peer 1 are missing"));
  // A client's entity tag never matches an incomplete response.
  const http::HttpResponse again =
      Ask(fleet_.router(0), "GET", "/api/pitwall/v1/jobs", {{"if-none-match", "*"}});
  EXPECT_EQ(again.status, 200);
  for (const auto& [name, value] : jobs.headers) EXPECT_NE(name, "ETag");
  for (const http::HttpResponse* partial : {&jobs, &query, &both})
    EXPECT_THAT(partial->headers, Contains(Pair("Cache-Control", "no-store")));

  for (int i = 0; i < kJobs; ++i) {
    const http::HttpResponse job =
        Ask(fleet_.router(0), "GET", Cat("/api/pitwall/v1/job?job=", EscapedId(i)));
    if (fleet_.OwnerOf(Id(i)) == 1) {
      EXPECT_EQ(job.status, 503) << i;
      EXPECT_THAT(job.body, HasSubstr("peer 1 (http://1) does not respond: connection refused"));
    } else {
      EXPECT_EQ(job.status, 200) << i << job.body;
    }
  }
  // The job may exist on the missing peer.
  EXPECT_EQ(Ask(fleet_.router(0), "GET", "/api/pitwall/v1/job?job=nobody").status, 503);

  fleet_.network.SetDown(1, false);
  const http::HttpResponse whole = Ask(fleet_.router(0), "GET", "/api/pitwall/v1/jobs");
  EXPECT_EQ(whole.body, Ask(fleet_.alone(), "GET", "/api/pitwall/v1/jobs").body);
  for (const auto& [name, value] : whole.headers) {
    if (name != "ETag") continue;
    const http::HttpResponse known =
        Ask(fleet_.router(0), "GET", "/api/pitwall/v1/jobs", {{"if-none-match", value}});
    EXPECT_EQ(known.status, 304);
    EXPECT_EQ(known.body, "");
  }
}

TEST_P(FleetRoutesTest, PeerRequestIsHandledLocally) {
  fleet_.network.TakeCalls();
  const http::HttpResponse own =
      Ask(fleet_.router(0), "GET", "/api/pitwall/v1/jobs", {{std::string(kPeerHeader), "1"}});
  EXPECT_THAT(own.body, Not(HasSubstr(Cat("name of ", Foreign(0)))));
  const http::HttpResponse foreign =
      Ask(fleet_.router(0), "GET", Cat("/api/pitwall/v1/job?job=", EscapedId(Foreign(0))),
          {{std::string(kPeerHeader), "1"}});
  EXPECT_EQ(foreign.status, 404);
  for (const HttpCall& call : fleet_.network.TakeCalls())
    EXPECT_THAT(call.body.substr(1, 1),
                ::testing::AnyOf("\x06", "\x07"));  // the other requests only poll for changes
}

TEST_P(FleetRoutesTest, CallerRoleIsForwarded) {
  const auto tokens = [&] {
    std::set<std::string> out;
    for (const HttpCall& call : fleet_.network.TakeCalls()) {
      if (EndsWith(call.url, kPeerPath)) continue;
      for (const auto& [name, value] : call.headers) {
        if (name == "Authorization") out.insert(value);
      }
    }
    return out;
  };
  const std::string target = Cat("/api/pitwall/v1/job?job=", EscapedId(Foreign(0)));
  tokens();
  Ask(fleet_.router(0), "GET", target, {{"authorization", "Bearer other"}}, "", Role::kView);
  EXPECT_EQ(tokens(), std::set<std::string>{"Bearer view-token"});
  Ask(fleet_.router(0), "DELETE", target, {}, "", Role::kAct);
  EXPECT_EQ(tokens(), std::set<std::string>{"Bearer act-token"});
}

TEST_P(FleetRoutesTest, OwnerWithoutData_PreviousOwnerResponds) {
  // At first, process 0 stored everything: an old job, and the start of a job that continues on
  // another process.
  int old = kJobs;
  while (fleet_.OwnerOf(Id(old)) == 0) ++old;
  fleet_.own(0).Edit(Id(old), [&](VectorHistory::Job* job) {
    job->life.id = Id(old);
    job->life.name = "old one";
  });
  const int moved = Foreign(0);
  fleet_.own(0).Edit(Id(moved), [&](VectorHistory::Job* job) {
    job->life.id = Id(moved);
    job->life.name = "before";
  });
  for (int i = 0; i < GetParam(); ++i) {
    const std::string jobs = Ask(fleet_.router(i), "GET", "/api/pitwall/v1/jobs").body;
    EXPECT_THAT(jobs, HasSubstr("old one"));
    EXPECT_THAT(jobs, Not(HasSubstr("before")));
    EXPECT_EQ(Ask(fleet_.router(i), "GET", Cat("/api/pitwall/v1/job?job=", EscapedId(old))).status,
              200);
    EXPECT_THAT(
        Ask(fleet_.router(i), "GET", Cat("/api/pitwall/v1/job?job=", EscapedId(moved))).body,
        HasSubstr(Cat("name of ", moved)));
  }
  // Deletion applies to all processes.
  const int last = GetParam() - 1;
  const std::string target = Cat("/api/pitwall/v1/job?job=", EscapedId(moved));
  EXPECT_EQ(Ask(fleet_.router(last), "DELETE", target).status / 100, 2);
  for (int i = 0; i < GetParam(); ++i) EXPECT_EQ(Ask(fleet_.router(i), "GET", target).status, 404);
}

TEST_P(FleetRoutesTest, DeletesJobOnAllProcessesOrReturnsError) {
  fleet_.network.SetDown(1, true);
  int mine = 0;
  while (fleet_.OwnerOf(Id(mine)) != 0) ++mine;
  const std::string target = Cat("/api/pitwall/v1/job?job=", EscapedId(mine));
  EXPECT_EQ(Ask(fleet_.router(0), "DELETE", target).status, 503);
  EXPECT_EQ(Ask(fleet_.router(0), "GET", target).status, 200);
}

TEST_P(FleetRoutesTest, StreamContainsChangesOfAllProcesses) {
  // The test waits until each peer has been polled once.
  const auto changes = [&](uint64_t place) {
    std::set<std::string> jobs;
    const auto all = fleet_.fleet(0).ChangesAfter(place, 1000);
    if (!all.ok()) return jobs;
    for (const Change& change : *all) jobs.insert(change.job);
    return jobs;
  };
  uint64_t place = 0;
  size_t calls = 0;
  Await([&] {
    calls += fleet_.network.TakeCalls().size();
    const uint64_t now = fleet_.fleet(0).newest_place();
    return std::exchange(place, now) == now && calls > 60;
  });
  std::set<std::string> published;
  for (int i = 0; i < GetParam(); ++i) {
    Change change;
    change.topic = Change::Topic::kSamples;
    change.job = Cat("of ", i);
    published.insert(change.job);
    fleet_.own(i).Publish(change);
  }
  Await([&] { return changes(place) == published; });
  // A client that was connected to another process must resync.
  EXPECT_TRUE(absl::IsOutOfRange(fleet_.fleet(1).ChangesAfter(place, 10).status()));
}

INSTANTIATE_TEST_SUITE_P(Sizes, FleetRoutesTest, ::testing::Values(2, 3));

}  // namespace
}  // namespace pitwall::history
