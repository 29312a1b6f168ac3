// Tests a complete collector with a fake clock.
#include "services/collector/collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cmath>
#include <csignal>
#include <set>
#include <thread>

#include "services/base/text/strings.h"
#include "services/collector/clients/testing/fake_client.h"
#include "services/collector/ranks/testing/decode.h"
#include "services/collector/testing/collector_fixture.h"

namespace pitwall::collector {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int64_t kMs = kNanosPerMilli;
constexpr int64_t kSecond = kNanosPerSecond;

std::vector<int64_t> Ticks(const std::vector<ReadBatch>& batches) {
  std::vector<int64_t> ticks;
  for (const ReadBatch& batch : batches) {
    for (const ReadSample& sample : batch.samples) {
      if (sample.series == "system_memory_limit_bytes") ticks.push_back(sample.time_ns);
    }
  }
  return ticks;
}

TEST_F(CollectorTest, LateTicksAreAtMultiplesOfInterval) {
  options_.interval_ns = 100 * kMs;
  Start();
  Advance(2 * kSecond, 37 * kMs);
  Settle();
  clock_.Advance(950 * kMs);  // the CPU was busy
  Advance(2 * kSecond, 37 * kMs);
  const auto batches = Of(Stop(), "node:n1");
  const auto ticks = Ticks(batches);
  ASSERT_GT(ticks.size(), 35u);
  for (int64_t tick : ticks) EXPECT_EQ(tick % (100 * kMs), 0);
  EXPECT_EQ(std::set<int64_t>(ticks.begin(), ticks.end()).size(), ticks.size());
  EXPECT_GE(Counter("pitwall_collector_ticks_missed_total"), 8);
  // Checks the heartbeats and promises.
  int64_t before = 0;
  for (const ReadBatch& batch : batches) {
    EXPECT_EQ(batch.source, "node@n1");
    EXPECT_EQ(batch.info.kind, SourceKind::kNode);
    EXPECT_EQ(batch.info.interval.ns(), 100 * kMs);
    if (before != 0 && batch.promise_ns > before) {
      EXPECT_LE(batch.promise_ns - before, 1500 * kMs);
    }
    before = batch.promise_ns;
  }
  EXPECT_TRUE(batches.back().goodbye);
  EXPECT_TRUE(batches[0].ticks.empty());  // the node's announcement
  EXPECT_GT(batches[1].schemas, 0u);
  // The core series are published because no job is bound.
  EXPECT_TRUE(batches[2].Has("system_cpu_time_seconds_total{cpu=0"));
}

TEST_F(CollectorTest, LongInterval_KeepsHeartbeatAndCanBeChanged) {
  options_.interval_ns = 5 * kSecond;
  Start();
  Advance(11 * kSecond);
  EXPECT_FALSE(collector_->SetInterval(123).ok());
  ASSERT_TRUE(collector_->SetInterval(200 * kMs).ok());
  Advance(2 * kSecond);
  const auto batches = Of(Stop(), "node:n1");
  const auto ticks = Ticks(batches);
  ASSERT_GE(ticks.size(), 10u);
  EXPECT_EQ(ticks[0] % (5 * kSecond), 0);
  EXPECT_EQ(ticks[1] - ticks[0], 5 * kSecond);
  EXPECT_EQ(ticks.back() - ticks[ticks.size() - 2], 200 * kMs);
  size_t empty = 0;
  for (const ReadBatch& batch : batches) empty += batch.ticks.empty();
  EXPECT_GE(empty, 8u);
  EXPECT_GE(batches.size(), 13u);
  // Without a socket, no clients can join late, so the promise is the tick itself.
  EXPECT_EQ(batches[1].promise_ns % kSecond, 0);
}

TEST_F(CollectorTest, RepeatsSchemasEveryFewSeconds) {
  Start();
  Advance(12 * kSecond);
  const auto batches = Of(Stop(), "node:n1");
  std::vector<int64_t> with_schemas;
  for (const ReadBatch& batch : batches) {
    if (batch.schemas >= 2) with_schemas.push_back(batch.promise_ns);
  }
  ASSERT_GE(with_schemas.size(), 3u);
  for (size_t i = 1; i < with_schemas.size(); ++i)
    EXPECT_LE(with_schemas[i] - with_schemas[i - 1], 6 * kSecond);
}

TEST_F(CollectorTest, JobFromOption_ReceivesNodeSeries) {
  root_.Write("sys/fs/cgroup/j/memory.current", "4096\n");
  options_.jobs.push_back(
      {"job-1", "bert", {"slurm", "c", "", "Job", "1", "1", "q"}, {{"team", "x"}}, {}, "/j"});
  Start();
  EXPECT_THAT(collector_->BoundJobs(), ElementsAre("job-1"));
  Advance(3 * kSecond);
  const auto batches = Stop();
  const auto job = Of(batches, "job-1");
  ASSERT_GT(job.size(), 3u);
  ASSERT_EQ(job[1].events.size(), 1u);
  EXPECT_EQ(job[1].events[0].kind, JobEvent::Kind::kStarted);
  EXPECT_EQ(job[1].events[0].name, "bert");
  EXPECT_EQ(job[1].events[0].reference.platform, "slurm");
  EXPECT_TRUE(job[2].events.empty());
  EXPECT_TRUE(job[2].Has("system_cpu_utilization_ratio") ||
              job[2].Has("system_cpu_time_seconds_total"));
  EXPECT_TRUE(job[2].Has("cgroup_memory_usage_bytes"));
  EXPECT_TRUE(job.back().goodbye);
  for (const ReadBatch& batch : Of(batches, "node:n1")) {
    EXPECT_FALSE(batch.Has("system_cpu_"));
    EXPECT_FALSE(batch.Has("cgroup_"));
  }
  EXPECT_TRUE(Of(batches, "node:n1")[1].Has("system_memory_limit_bytes"));
}

TEST_F(CollectorTest, ClientProcessBecomesJobReference) {
  options_.socket_path = root_.At("socket");
  options_.jobs.push_back({"job-1", "bert", {}, {}, {}, ""});
  Start();
  Advance(kSecond);
  // The job has two incarnations with two ranks each. The process start time differs in the second
  // incarnation.
  for (const int start : {777, 888}) {
    WriteProcess(start);
    TestClient first(options_.socket_path), second(options_.socket_path);
    auto hello = HelloOf(1, clock_.WallNs());
    hello.mutable_hello()->set_boot_id(Cat("one-", start));
    first.Send(hello);
    first.ReadWelcome();
    hello = HelloOf(0, clock_.WallNs());
    hello.mutable_hello()->set_boot_id(Cat("zero-", start));
    second.Send(hello);
    second.ReadWelcome();
    Advance(2 * kSecond);
    first.Close();
    second.Close();
    while (Counter("pitwall_collector_clients") > 0) {
    }
    Advance(kSecond);
  }
  std::vector<std::string> references;
  for (const ReadBatch& batch : Of(Stop(), "job-1")) {
    for (const JobEvent& event : batch.events) {
      if (event.kind == JobEvent::Kind::kRankLost) continue;  // from the first incarnation
      EXPECT_EQ(event.kind, JobEvent::Kind::kStarted);
      EXPECT_EQ(event.name, "bert");
      references.push_back(event.reference.uid);
    }
  }
  const std::string pid = Cat(getpid(), "@n1/");
  EXPECT_THAT(references, ElementsAre("", Cat(pid, 777), Cat(pid, 888)));
}

TEST_F(CollectorTest, SecondIncarnationOfClientJob_UpdatesReference) {
  options_.socket_path = root_.At("socket");
  Start();
  std::vector<std::string> references;
  for (const int start : {777, 888}) {
    WriteProcess(start);
    TestClient client(options_.socket_path);
    auto hello = HelloOf(0, clock_.WallNs());
    hello.mutable_hello()->set_boot_id(Cat("boot-", start));
    client.Send(hello);
    client.ReadWelcome();
    Advance(2 * kSecond);
    client.Close();
    while (Counter("pitwall_collector_clients") > 0) {
    }
    Advance(kSecond);
  }
  for (const ReadBatch& batch : Of(Stop(), "job-1")) {
    for (const JobEvent& event : batch.events) {
      if (event.kind == JobEvent::Kind::kStarted) references.push_back(event.reference.uid);
    }
  }
  const std::string pid = Cat(getpid(), "@n1/");
  EXPECT_THAT(references, ElementsAre(Cat(pid, 777), Cat(pid, 888)));
}

// After kill -9, the rank is lost, the node sends no further frames to the job, and the launcher's
// exit is reported last.
TEST_F(CollectorTest, KilledProcess_IsReportedAsLostRank) {
  options_.socket_path = root_.At("socket");
  const auto stat = [&](int pid, int parent, char state, int status) {
    root_.Write(Cat("proc/", pid, "/stat"),
                Cat(pid, " (a b) ", std::string(1, state), " ", parent,
                    " 1 1 0 -1 4 1 0 0 0 1 1 0 0 20 0 1 0 ", 777,
                    " 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 ", status, "\n"));
  };
  stat(getpid(), 4000, 'R', 0);
  stat(4000, 1, 'S', 0);
  Start();
  TestClient client(options_.socket_path);
  client.Send(HelloOf(0, clock_.WallNs()));
  client.ReadWelcome();
  Advance(2 * kSecond);
  // A closed connection alone does not end the rank, because its process is still running.
  client.Close();
  while (Counter("pitwall_collector_clients") > 0) {
  }
  Advance(2 * kSecond);
  EXPECT_THAT(collector_->BoundJobs(), ElementsAre("job-1"));
  stat(getpid(), 4000, 'Z', 9);  // the process has not been reaped by its parent yet
  while (!collector_->BoundJobs().empty()) Advance(100 * kNanosPerMilli);
  root_.Remove("proc/4000/stat");
  const auto job_events = [&] {
    std::vector<JobEvent> events;
    for (const ReadBatch& batch : Of(DecodeAll(appender_.records()), "job-1")) {
      for (const JobEvent& event : batch.events) events.push_back(event);
    }
    return events;
  };
  while (job_events().back().kind != JobEvent::Kind::kLauncherGone) Advance(100 * kNanosPerMilli);
  const std::vector<JobEvent> events = job_events();
  const std::vector<ReadBatch> batches = Of(Stop(), "job-1");
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].kind, JobEvent::Kind::kStarted);
  EXPECT_EQ(events[1].kind, JobEvent::Kind::kRankLost);
  EXPECT_EQ(events[1].rank_lost.source, "rank-0@n1");
  EXPECT_EQ(events[1].rank_lost.boot_id, "boot-0");
  EXPECT_EQ(events[1].rank_lost.signal, 9);
  EXPECT_GE(events[2].time, events[1].time);
  // The node's last batch for the job contains a goodbye.
  const auto last = std::find_if(batches.rbegin(), batches.rend(),
                                 [](const ReadBatch& batch) { return batch.source == "node@n1"; });
  ASSERT_NE(last, batches.rend());
  EXPECT_TRUE(last->goodbye);
}

TEST_F(CollectorTest, DropFileBindsAndReleasesJob) {
  options_.drop_dir = root_.At("jobs");
  Start();
  Advance(3 * kSecond);
  root_.Write("jobs/1", "job_id=slurm-1\njob_name=x\n");
  Advance(5 * kSecond);
  EXPECT_THAT(collector_->BoundJobs(), ElementsAre("slurm-1"));
  root_.Write("jobs/1", "job_id=slurm-1\njob_name=x\nended=completed\n");
  Advance(5 * kSecond);
  EXPECT_THAT(collector_->BoundJobs(), IsEmpty());
  root_.Remove("jobs/1");
  root_.Write("jobs/2", "job_id=slurm-2\n");
  Advance(3 * kSecond);
  root_.Remove("jobs/2");
  Advance(5 * kSecond);
  root_.Write("jobs/2", "job_id=slurm-2\n");
  Advance(3 * kSecond);
  const auto batches = Stop();
  const auto first = Of(batches, "slurm-1");
  ASSERT_GT(first.size(), 3u);
  EXPECT_TRUE(first.back().goodbye);
  ASSERT_EQ(first.back().events.size(), 1u);
  EXPECT_EQ(first.back().events[0].kind, JobEvent::Kind::kEnded);
  EXPECT_EQ(first.back().events[0].reason, "completed");
  // The job is released and bound again with a new boot ID, because its sequences start at 1 again.
  std::set<std::string> boots;
  size_t goodbyes = 0;
  for (const ReadBatch& batch : Of(batches, "slurm-2")) {
    boots.insert(batch.boot_id);
    goodbyes += batch.goodbye;
    for (const JobEvent& event : batch.events) EXPECT_EQ(event.kind, JobEvent::Kind::kStarted);
  }
  EXPECT_EQ(boots.size(), 2u);
  EXPECT_EQ(goodbyes, 2u);
  // The node's core series were removed and then added again.
  std::vector<bool> cores;
  for (const ReadBatch& batch : Of(batches, "node:n1")) {
    const bool has = batch.Has("system_cpu_time_seconds_total");
    if (cores.empty() || cores.back() != has) cores.push_back(has);
  }
  EXPECT_GE(cores.size(), 4u);
}

TEST_F(CollectorTest, ClientIsAnnouncedBeforeNodePassesItsStart) {
  options_.socket_path = root_.At("socket");
  Start();
  Advance(2 * kSecond);
  const int64_t start = clock_.WallNs();
  clock_.Advance(60 * kMs);
  TestClient client(options_.socket_path);
  client.Send(HelloOf(0, start));
  client.ReadWelcome();
  EXPECT_THAT(collector_->BoundJobs(), ElementsAre("job-1"));
  Advance(2 * kSecond);
  client.Send(UpdateOf(1, clock_.WallNs() - 1));
  const int64_t second_start = clock_.WallNs();
  TestClient second(options_.socket_path);
  clock_.Advance(200 * kMs);
  second.Send(HelloOf(1, second_start));
  second.ReadWelcome();
  Advance(2 * kSecond);
  EXPECT_EQ(Counter("pitwall_collector_client_late_hellos_total"), 0);
  client.Send(GoodbyeOf("completed"));
  second.Send(GoodbyeOf("completed"));
  client.AwaitClosed();
  second.AwaitClosed();
  Advance(8 * kSecond);
  EXPECT_THAT(collector_->BoundJobs(), IsEmpty());
  const auto job = Of(Stop(), "job-1");
  std::set<std::string> announced;
  std::map<std::string, int64_t> starts = {{"rank-0@n1", start}, {"rank-1@n1", second_start}};
  for (const ReadBatch& batch : job) {
    if (batch.source == "node@n1") {
      for (const auto& [source, at] : starts) {
        if (!announced.contains(source)) {
          EXPECT_LT(batch.promise_ns, at) << source;
        }
      }
    } else if (announced.insert(batch.source).second) {
      EXPECT_EQ(batch.promise_ns, starts[batch.source] - 1);
    }
  }
  EXPECT_EQ(announced.size(), 2u);
  EXPECT_EQ(job[0].source, "rank-0@n1");
  EXPECT_EQ(job[0].events.size(), 1u);
  EXPECT_TRUE(job.back().goodbye);
  ASSERT_EQ(job.back().events.size(), 1u);
  EXPECT_EQ(job.back().events[0].kind, JobEvent::Kind::kEnded);
  EXPECT_EQ(job.back().events[0].reason, "completed");
}

// The log is unavailable, and the collector is killed while it publishes its spool (time-model.md,
// scenarios 4 and 13).
TEST_F(CollectorTest, KilledWhilePublishingSpool_KeepsRecordsAndOrder) {
  options_.spool_dir = root_.At("spool");
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {  // the child's log accepts a few records and then fails
    options_.new_boot_id = [] { return std::string("child"); };
    appender_.Fail(-1);
    Start();
    for (int i = 0; i < 100; ++i) {
      clock_.AwaitWaiters(2);
      clock_.Advance(100 * kMs);
    }
    while (Counter("pitwall_collector_spool_records") < 15) clock_.Advance(100 * kMs);
    (void)!write(ready[1], "x", 1);
    while (true) pause();
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);

  // The second collector sends some records twice, because its log stores the records but returns
  // an error.
  appender_.Fail(3, Unavailable("half done"), 5);
  clock_.Advance(60 * kSecond);
  Start();
  for (int i = 0; i < 100 && Counter("pitwall_collector_spool_records") > 0; ++i) {
    Settle();
    clock_.Advance(kSecond);
  }
  Advance(3 * kSecond);
  collector_->Stop();
  // Keeps each (boot, sequence) only once, as the processor does.
  std::vector<OutgoingRecord> once;
  std::set<std::string> seen;
  for (const OutgoingRecord& record : appender_.records()) {
    if (seen.insert(record.value).second) once.push_back(record);
  }
  EXPECT_LT(once.size(), appender_.records().size());
  const auto batches =
      Of(DecodeAll(once), "node:n1");  // also checks sequences, promises, and order
  std::vector<std::string> boots;
  for (const ReadBatch& batch : batches) {
    if (boots.empty() || boots.back() != batch.boot_id) {
      EXPECT_EQ(batch.sequence, 1u);
      boots.push_back(batch.boot_id);
    }
  }
  EXPECT_THAT(boots, ElementsAre("child.0", "boot1.0"));
}

TEST_F(CollectorTest, RequestStopEndsRun_StopIsIdempotent) {
  auto created = Collector::Create(options_, clock_, &appender_);
  ASSERT_TRUE(created.ok());
  std::thread runner([&] { EXPECT_TRUE((*created)->Run().ok()); });
  clock_.AwaitWaiters(3);
  (*created)->RequestStop();
  runner.join();
  (*created)->Stop();
  EXPECT_FALSE((*created)->Start().ok());
}

TEST_F(CollectorTest, InvalidOptionsAreRejected) {
  auto refused = [this](auto change) {
    Options options = options_;
    change(&options);
    return !Collector::Create(options, clock_, &appender_).ok();
  };
  EXPECT_FALSE(refused([](Options*) {}));
  EXPECT_TRUE(refused([](Options* o) { o->interval_ns = 300 * kMs; }));
  EXPECT_TRUE(refused([](Options* o) { o->node = std::string(300, 'n'); }));
  EXPECT_TRUE(refused([](Options* o) { o->jobs.push_back({}); }));
  EXPECT_TRUE(refused([](Options* o) { o->limits.clients = 0; }));
  EXPECT_TRUE(refused([](Options* o) { o->join_slack_ns = -1; }));
  EXPECT_TRUE(refused([](Options* o) { o->queue_bytes = 1; }));
  EXPECT_TRUE(refused([](Options* o) {
    o->spool_dir = "x";
    o->spool_bytes = 1;
  }));
  // Start returned the error, and no thread is running.
  options_.socket_path = root_.At("no/such/dir/socket");
  auto created = Collector::Create(options_, clock_, &appender_);
  ASSERT_TRUE(created.ok());
  EXPECT_FALSE((*created)->Start().ok());
  EXPECT_EQ(clock_.waiters(), 0u);
}

}  // namespace
}  // namespace pitwall::collector
