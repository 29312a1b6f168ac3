// Tests clients over a real socket: the protocol, ranks as telemetry sources, and malformed input.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <thread>

#include "services/base/text/strings.h"
#include "services/collector/clients/client_server.h"
#include "services/collector/clients/testing/fake_client.h"
#include "services/collector/files/testing/temporary_root.h"
#include "services/collector/ranks/testing/decode.h"
#include "tests/fakes/fake_appender.h"
#include "tests/fakes/fake_clock.h"

namespace pitwall::collector {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kMs = kNanosPerMilli;

class ClientTest : public ::testing::Test {
 protected:
  ClientTest()
      : time_(clock_),
        bindings_({64, 5 * kNanosPerSecond, 60 * kNanosPerSecond, 600 * kNanosPerSecond}),
        publisher_(PublisherOptionsOf(), clock_, &appender_, &counters_, &cursors_),
        sender_(&publisher_),
        sessions_({"n1", root_.path(), kNanosPerSecond / 4, 2}, &bindings_, &sender_, nullptr,
                  time_, clock_, &counters_) {
    options_.path = root_.At("socket");
    EXPECT_TRUE(publisher_.Start().ok());
    WriteProcess(getuid(), 777);
  }
  ~ClientTest() override {
    if (server_ != nullptr) server_->Stop();
    publisher_.Stop();
  }
  static PublisherOptions PublisherOptionsOf() {
    PublisherOptions options;
    options.topic = "t";
    return options;
  }
  void StartServer() {
    server_ = std::make_unique<ClientServer>(options_, &sessions_, clock_, &counters_);
    const Status status = server_->Start();
    ASSERT_TRUE(status.ok()) << status;
  }
  std::vector<ReadBatch> Await(size_t records) {
    appender_.AwaitRecords(records);
    return DecodeAll(appender_.records());
  }
  // Returns all batches up to the client's goodbye.
  std::vector<ReadBatch> AwaitGoodbye() {
    std::vector<ReadBatch> batches;
    do {
      batches = Await(batches.size() + 1);
    } while (std::none_of(batches.begin(), batches.end(),
                          [](const ReadBatch& batch) { return batch.goodbye; }));
    return batches;
  }
  int64_t Now() const { return clock_.WallNs(); }
  // Writes this process's entries under /proc.
  void WriteProcess(uid_t user, uint64_t start) const {
    root_.Write(Cat("proc/", getpid(), "/stat"),
                Cat(getpid(), " (a) b) R 1 1 1 0 -1 4 1 0 0 0 1 1 0 0 20 0 1 0 ", start, " 1 1\n"));
    root_.Write(Cat("proc/", getpid(), "/status"),
                Cat("Name:\ta\nUid:\t0\t", user, "\t", user, "\t", user, "\nGid:\t0\t0\t0\t0\n"));
  }
  std::string MyUid(uint64_t start = 777) const { return Cat(getpid(), "@n1/", start); }
  JobReference ReferenceAfter(client::v1::ClientMessage hello) {
    TestClient client(options_.path);
    client.Send(hello);
    client.ReadWelcome();
    const auto batches = Await(1);
    EXPECT_EQ(batches[0].events.size(), 1u);
    return batches[0].events[0].reference;
  }

  TestRoot root_;
  fakes::FakeClock clock_;
  fakes::FakeAppender appender_;
  Counters counters_;
  ClientCursors cursors_;
  MonotonicEventClock time_;
  JobRegistry bindings_;
  Publisher publisher_;
  BatchSender sender_;
  ClientSessions sessions_;
  ServerOptions options_;
  std::unique_ptr<ClientServer> server_;
};

TEST_F(ClientTest, PublishesRankFromHelloToGoodbye) {
  StartServer();
  TestClient client(options_.path);
  ASSERT_TRUE(client.connected());
  const int64_t start = Now();
  auto hello = HelloOf(3, start);
  auto* label = hello.mutable_hello()->add_labels();
  label->set_name("team");
  label->set_value("nlp");
  hello.mutable_hello()->set_attempt(2);
  client.Send(hello);
  const auto welcome = client.ReadWelcome();
  EXPECT_EQ(welcome.node(), "n1");
  EXPECT_EQ(welcome.job_id(), "job-1");
  EXPECT_EQ(welcome.source(), "rank-3@n1");

  auto update = UpdateOf(1, start + 50 * kMs);
  AddSpan(&update, client::v1::SPAN_KIND_PHASE, "forward", start + 10 * kMs, start + 20 * kMs, 5);
  AddSpan(&update, client::v1::SPAN_KIND_STEP, "step", start + 5 * kMs, start + 30 * kMs, 5);
  AddSpan(&update, client::v1::SPAN_KIND_OPERATOR, "mm", start + 11 * kMs, start + 12 * kMs, 5);
  auto* value = update.mutable_update()->add_values();
  value->set_metric("train_loss");
  value->set_value(2.5);
  value->set_time_unix_ns(start + 25 * kMs);
  value->set_step_plus_one(6);
  value->set_mode("train");
  auto* promise = update.mutable_update()->add_step_promises();
  promise->set_mode("train");
  promise->set_below_step(6);
  update.mutable_update()->set_phase("backward");
  update.mutable_update()->set_phase_since_unix_ns(start + 40 * kMs);
  update.mutable_update()->set_step_plus_one(7);
  update.mutable_update()->set_mode("train");
  client.Send(update);
  client.Send(UpdateOf(2, start + 60 * kMs));
  client.Send(GoodbyeOf("completed"));
  EXPECT_TRUE(client.AwaitClosed());

  const auto batches = Await(4);
  ASSERT_EQ(batches.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(batches[i].job, "job-1");
    EXPECT_EQ(batches[i].source, "rank-3@n1");
    EXPECT_EQ(batches[i].boot_id, "boot-3");
    EXPECT_EQ(batches[i].sequence, i + 1);
    EXPECT_EQ(batches[i].info.kind, SourceKind::kRank);
    EXPECT_EQ(batches[i].info.rank, 3);
    EXPECT_EQ(batches[i].info.attempt, 2u);
    EXPECT_EQ(batches[i].info.start.ns(), start);
    EXPECT_EQ(batches[i].goodbye, i == 3);
  }
  EXPECT_EQ(batches[0].promise_ns, start - 1);
  ASSERT_EQ(batches[0].events.size(), 1u);
  const JobEvent& started = batches[0].events[0];
  EXPECT_EQ(started.kind, JobEvent::Kind::kStarted);
  EXPECT_EQ(started.name, "train");
  EXPECT_EQ(started.reference.platform, "process");
  EXPECT_EQ(started.reference.kind, "pid");
  EXPECT_EQ(started.reference.name, Cat(getpid()));  // the kernel's PID, not the client's
  EXPECT_EQ(started.reference.uid, MyUid());
  EXPECT_THAT(started.labels, ElementsAre(Label{"team", "nlp"}));

  EXPECT_EQ(batches[1].promise_ns, start + 50 * kMs);
  ASSERT_EQ(batches[1].step_promises.size(), 1u);
  EXPECT_EQ(batches[1].step_promises[0].step, 5);
  EXPECT_EQ(batches[1].spans.size(), 3u);
  EXPECT_EQ(batches[1].spans[1].name, "");
  EXPECT_THAT(batches[1].info.step_modes, ElementsAre("train"));
  std::vector<std::string> samples;
  for (const ReadSample& s : batches[1].samples) {
    samples.push_back(
        Cat((s.time_ns - start) / kMs, "/", s.step, " ", s.series, " ", FormatDouble(s.value)));
  }
  EXPECT_THAT(samples, Contains("30/5 train_step{rank=3} 5"));
  EXPECT_THAT(samples, Contains("30/5 train_loss{mode=train,rank=3} 2.5"));
  EXPECT_THAT(samples, Contains("30/5 train_phase_duration_seconds{phase=forward,rank=3} 0.01"));
  EXPECT_THAT(samples, Contains("30/5 train_world_size{rank=3} 2"));
  EXPECT_THAT(samples, Contains("10/-1 train_phase_state{phase=forward,rank=3} 1"));
  EXPECT_THAT(samples, Contains("40/-1 train_phase_state{phase=backward,rank=3} 1"));
  EXPECT_EQ(batches[2].promise_ns, start + 60 * kMs);
  EXPECT_EQ(batches[3].promise_ns, start + 60 * kMs);
  EXPECT_EQ(counters_.clients_lost, 0u);
  EXPECT_EQ(counters_.clients_malformed, 0u);
}

TEST_F(ClientTest, ProcessReferenceComesFromKernel) {
  StartServer();
  auto hello = HelloOf(0, Now());
  hello.mutable_hello()->set_platform("process");
  hello.mutable_hello()->set_kind("pid");
  hello.mutable_hello()->set_uid("1@n1/1");
  hello.mutable_hello()->set_cluster("c");
  EXPECT_EQ(ReferenceAfter(hello),
            (JobReference{"process", "", "", "pid", Cat(getpid()), MyUid(), ""}));
}

TEST_F(ClientTest, SchedulerReferenceComesFromClient) {
  StartServer();
  auto hello = HelloOf(0, Now());
  hello.mutable_hello()->set_platform("slurm");
  hello.mutable_hello()->set_uid("42");
  EXPECT_EQ(ReferenceAfter(hello), (JobReference{"slurm", "", "", "", "train", "42", ""}));
}

// The connecting process has exited, and its PID now belongs to another user's process.
TEST_F(ClientTest, PidReusedByAnotherUser_HasNoReference) {
  WriteProcess(getuid() + 1, 888);
  StartServer();
  EXPECT_EQ(ReferenceAfter(HelloOf(0, Now())), JobReference{});
}

TEST_F(ClientTest, ExitedProcess_HasNoReference) {
  root_.Remove(Cat("proc/", getpid(), "/stat"));
  StartServer();
  EXPECT_EQ(ReferenceAfter(HelloOf(0, Now())), JobReference{});
}

TEST_F(ClientTest, ReconnectedClient_ContinuesSequence) {
  StartServer();
  const int64_t start = Now();
  {
    TestClient client(options_.path);
    client.Send(HelloOf(0, start));
    client.ReadWelcome();
    auto update = UpdateOf(1, start + 100);
    update.mutable_update()->set_phase("forward");
    update.mutable_update()->set_phase_since_unix_ns(start + 50);
    client.Send(update);
    Await(2);
  }
  TestClient again(options_.path);
  again.Send(HelloOf(0, start));
  again.ReadWelcome();
  again.Send(UpdateOf(4, start + 200));
  const auto batches = Await(4);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(batches[i].sequence, i + 1);
  EXPECT_EQ(batches[2].promise_ns, start + 100);
  EXPECT_TRUE(batches[2].events.empty());
  EXPECT_EQ(counters_.clients_lost, 1u);
  again.Send(UpdateOf(9, start + 300));
  Await(5);
  // Updates 2 and 3 were in flight when the connection was lost. They are lost because this client
  // does not resend updates.
  EXPECT_EQ(counters_.client_updates_missed, 6u);
}

TEST_F(ClientTest, SecondConnectionOfProcess_ReplacesFirst) {
  StartServer();
  const int64_t start = Now();
  TestClient first(options_.path);
  first.Send(HelloOf(0, start));
  first.ReadWelcome();
  TestClient second(options_.path);
  second.Send(HelloOf(0, start));
  second.ReadWelcome();
  first.Send(UpdateOf(1, start + 10));
  EXPECT_TRUE(first.AwaitClosed());
  second.Send(UpdateOf(1, start + 20));
  const auto batches = Await(3);
  EXPECT_EQ(batches[2].promise_ns, start + 20);
  EXPECT_THAT(bindings_.Expire(INT64_MAX / 2), ::testing::IsEmpty());
}

TEST_F(ClientTest, LateHello_StartsAbovePreviousSequences) {
  StartServer();
  TestClient client(options_.path);
  client.Send(HelloOf(0, Now() - 3600 * kNanosPerSecond));
  client.ReadWelcome();
  client.Send(UpdateOf(1, Now()));
  const auto batches = Await(2);
  EXPECT_GT(batches[0].sequence, 100'000u);
  for (const ReadBatch& batch : batches) EXPECT_EQ(batch.first_sequence, batches[0].sequence);
}

TEST_F(ClientTest, MalformedInput_ClosesOnlyThatClient) {
  StartServer();
  const int64_t start = Now();
  TestClient good(options_.path);
  good.Send(HelloOf(0, start));
  good.ReadWelcome();

  auto text = [](const client::v1::ClientMessage& message) {
    return TestClient::Framed(message.SerializeAsString());
  };
  auto hello = [&](auto change) {
    auto message = HelloOf(1, start);
    change(message.mutable_hello());
    return text(message);
  };
  auto update = [&](auto change) {
    auto message = UpdateOf(1, start + 10);
    change(message.mutable_update());
    return text(HelloOf(1, start)) + text(message);
  };
  auto span = [&](client::v1::SpanKind kind, std::string name, int64_t duration, uint64_t step) {
    return update([&](auto* u) {
      auto* s = u->add_spans();
      s->set_kind(kind);
      s->set_name(name);
      s->set_start_unix_ns(start);
      s->set_duration_ns(duration);
      s->set_step_plus_one(step);
    });
  };
  const auto phase = client::v1::SPAN_KIND_PHASE;
  const std::vector<std::string> bad = {
      "\xff\xff\xff\xff",
      std::string("\x01\x00\x40\x00x", 5),
      TestClient::Framed("this is no protobuf"),
      TestClient::Framed(""),
      text(UpdateOf(1, start)),
      text(GoodbyeOf("")),
      hello([](auto* h) { h->set_protocol(2); }),
      hello([](auto* h) { h->clear_boot_id(); }),
      hello([](auto* h) { h->clear_start_unix_ns(); }),
      hello([](auto* h) { h->set_job_id("__control"); }),
      hello([](auto* h) { h->set_job_name("a\nb"); }),
      hello([](auto* h) { h->set_cluster(std::string(2000, 'x')); }),
      hello([](auto* h) { h->add_labels(); }),
      hello([](auto* h) {
        h->clear_job_id();
        h->clear_job_name();
      }),
      text(HelloOf(1, start)) + text(HelloOf(1, start)),
      text(HelloOf(1, start)) + text(GoodbyeOf("because")),
      span(client::v1::SPAN_KIND_UNSPECIFIED, "x", 1, 0),
      span(phase, "x", -1, 0),
      span(phase, "x", INT64_MAX, 0),
      span(phase, std::string(2000, 'x'), 1, 0),
      span(phase, "x", 1, UINT64_MAX),
      update([](auto* u) { u->add_step_promises(); }),
      update([](auto* u) { u->set_phase("a\x01"); }),
      update([](auto* u) { u->add_values()->set_metric(std::string(2000, 'x')); }),
  };
  for (size_t i = 0; i < bad.size(); ++i) {
    SCOPED_TRACE(i);
    TestClient client(options_.path);
    client.SendBytes(bad[i]);
    while (!client.AwaitClosed()) {
    }
    // The counter is incremented before the connection is closed.
    EXPECT_EQ(counters_.clients_malformed, i + 1);
  }
  {  // in the middle of a message
    TestClient client(options_.path);
    client.SendBytes(text(HelloOf(1, start)).substr(0, 20));
  }
  good.Send(UpdateOf(1, start + 10));
  good.Send(GoodbyeOf("completed"));
  EXPECT_TRUE(good.AwaitClosed());
  while (counters_.clients_malformed < bad.size() + 1) {
  }
}

TEST_F(ClientTest, MessagesSplitAtAnyByte_AreReassembled) {
  StartServer();
  const int64_t start = Now();
  std::string stream = TestClient::Framed(HelloOf(0, start).SerializeAsString());
  for (uint64_t i = 1; i <= 200; ++i) {
    auto update = UpdateOf(i, start + static_cast<int64_t>(i));
    for (int k = 0; k < 50; ++k)
      AddSpan(&update, client::v1::SPAN_KIND_OPERATOR, "op", start, start + 1, 0);
    stream += TestClient::Framed(update.SerializeAsString());
  }
  TestClient client(options_.path);
  for (size_t at = 0, size = 1; at < stream.size(); at += size, size = size % 977 + 13) {
    client.SendBytes(std::string_view(stream).substr(at, size));
  }
  client.ReadWelcome();
  EXPECT_EQ(Await(201).back().promise_ns, start + 200);
}

// The collector truncates a long exception text at a character boundary.
TEST_F(ClientTest, FailureContainsException) {
  StartServer();
  TestClient client(options_.path);
  client.Send(HelloOf(0, Now()));
  client.ReadWelcome();
  auto goodbye = GoodbyeOf("failed");
  goodbye.mutable_goodbye()->set_exception("ValueError: \x1b" + std::string(185, 'x') +
                                           "\u00e9\u00e9");
  client.Send(goodbye);
  client.AwaitClosed();
  const auto batches = AwaitGoodbye();
  ASSERT_EQ(batches.back().events.size(), 1u);
  EXPECT_TRUE(ReportedFailure(batches.back().events[0]));
  EXPECT_EQ(batches.back().events[0].rank_lost.exception,
            "ValueError: \\x1b" + std::string(185, 'x') + "\u00e9");
}

TEST_F(ClientTest, LargeUpdateIsSplitIntoBatches) {
  StartServer();
  const int64_t start = Now();
  TestClient client(options_.path);
  client.Send(HelloOf(0, start));
  client.ReadWelcome();
  auto update = UpdateOf(1, start + 1'000'000);
  for (int k = 0; k < 30'000; ++k)
    AddSpan(&update, client::v1::SPAN_KIND_STEP, "step", start + k * 10, start + k * 10 + 5, k);
  client.Send(update);
  client.Send(GoodbyeOf("completed"));
  client.AwaitClosed();
  const auto batches = AwaitGoodbye();
  EXPECT_GE(batches.size(), 3u);
  size_t spans = 0;
  size_t steps = 0;
  for (const ReadBatch& batch : batches) {
    spans += batch.spans.size();
    for (const ReadSample& sample : batch.samples) steps += sample.series == "train_step{rank=0}";
  }
  for (const OutgoingRecord& record : appender_.records()) EXPECT_LT(record.value.size(), 700'000u);
  EXPECT_EQ(spans, 30'000u);
  EXPECT_EQ(steps, 30'000u);
}

TEST_F(ClientTest, ExcessAndSilentClientsAreDisconnected) {
  options_.max_clients = 2;
  StartServer();
  TestClient a(options_.path);
  TestClient b(options_.path);
  TestClient c(options_.path);
  EXPECT_TRUE(c.AwaitClosed());
  EXPECT_EQ(counters_.clients_refused, 1u);
  clock_.Advance(11 * kNanosPerSecond);
  EXPECT_TRUE(a.AwaitClosed());
  EXPECT_TRUE(b.AwaitClosed());
  uint64_t no_hello = 0;
  for (const auto& n : counters_.refusals[static_cast<size_t>(Refusal::kNoHello)]) no_hello += n;
  EXPECT_EQ(no_hello, 2u);
}

// Other clients keep the server busy continuously. A client that could not be accepted for lack of
// file descriptors must still be accepted later.
TEST_F(ClientTest, RecoversAfterRunningOutOfFileDescriptors) {
  StartServer();
  const int64_t start = Now();
  TestClient live(options_.path);
  live.Send(HelloOf(0, start));
  live.ReadWelcome();
  uint64_t updates = 0;
  const auto update = [&] {
    ++updates;
    live.Send(UpdateOf(updates, start + static_cast<int64_t>(updates)));
    Await(1 + updates);
  };
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{100, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<int> fillers;
  for (int fd; (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) fillers.push_back(fd);
  ASSERT_FALSE(fillers.empty());
  close(fillers.back());
  fillers.pop_back();
  TestClient late(options_.path);  // takes the last descriptor, so the server's accept fails
  EXPECT_TRUE(late.connected());
  for (int i = 0; i < 2; ++i) update();  // the server has tried to accept by now
  EXPECT_EQ(counters_.clients_accepted, 1u);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  for (const int fd : fillers) close(fd);
  for (int i = 0; i < 100 && counters_.clients_accepted < 2; ++i) {
    clock_.Advance(kNanosPerSecond);
    update();
  }
  ASSERT_EQ(counters_.clients_accepted, 2u);
  late.Send(HelloOf(1, start));
  EXPECT_EQ(late.ReadWelcome().source(), "rank-1@n1");
}

TEST_F(ClientTest, SocketPathIsChecked) {
  options_.path = root_.At(std::string(120, 'x'));
  ClientServer too_long(options_, &sessions_, clock_, &counters_);
  EXPECT_EQ(too_long.Start().code(), absl::StatusCode::kInvalidArgument);
  root_.Write("file", "precious");
  options_.path = root_.At("file");
  ClientServer occupied(options_, &sessions_, clock_, &counters_);
  EXPECT_EQ(occupied.Start().code(), absl::StatusCode::kFailedPrecondition);
  options_.path = root_.At("no/dir/socket");
  EXPECT_FALSE(ClientServer(options_, &sessions_, clock_, &counters_).Start().ok());

  options_.path = root_.At("socket");
  StartServer();
  ClientServer second(options_, &sessions_, clock_, &counters_);
  EXPECT_THAT(std::string(second.Start().message()), HasSubstr("already listening"));
  server_->Stop();
  EXPECT_FALSE(std::filesystem::exists(options_.path));
  {  // stale socket file left behind by a killed process
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, options_.path.data(), options_.path.size());
    ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    close(fd);
  }
  StartServer();
  EXPECT_TRUE(TestClient(options_.path).connected());
}

}  // namespace
}  // namespace pitwall::collector
