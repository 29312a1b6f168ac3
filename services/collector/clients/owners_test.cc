// Tests job ownership on one node: access by other users, squatters, and users who exceed their
// share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "services/base/text/strings.h"
#include "services/collector/clients/client_server.h"
#include "services/collector/clients/testing/fake_client.h"
#include "services/collector/files/testing/temporary_root.h"
#include "services/collector/files/trusted_path.h"
#include "services/collector/jobs/job_file_directory.h"
#include "services/collector/jobs/job_registry.h"
#include "services/collector/jobs/owner_name.h"
#include "services/collector/metrics/refusal.h"
#include "services/collector/ranks/testing/decode.h"
#include "tests/fakes/fake_appender.h"
#include "tests/fakes/fake_clock.h"

namespace pitwall::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr int64_t kSecond = kNanosPerSecond;
constexpr char kAlice[] = "uid:1000";
constexpr char kMallory[] = "uid:1001";

class OwnersTest : public ::testing::Test {
 protected:
  OwnersTest() : bindings_({5, 5 * kSecond, 60 * kSecond, 600 * kSecond, 3}) {}

  static JobClaim Rank(std::string owner, std::string id, int64_t rank = 0) {
    JobClaim claim;
    claim.owner = std::move(owner);
    claim.job_id = std::move(id);
    claim.job_name = "train";
    claim.rank = rank;
    claim.world_size = 2;
    claim.client_start_ns = 77 * kSecond;
    claim.pid = 100 + rank;
    return claim;
  }
  // Returns "<job> of <owner>" or "<refusal>: <message>".
  std::string Claim(uint64_t client, const JobClaim& claim) {
    const auto claimed = bindings_.Claim(client, claim);
    if (!claimed.ok()) {
      return Cat(RefusalName(RefusalOf(claimed.status())), ": ", ToStd(claimed.status().message()));
    }
    bindings_.Announced(client);
    return Cat(claimed->job_id, " of ", claimed->owner,
               claimed->owner_declared ? ", declared" : "");
  }
  static JobRegistry::DroppedJob Dropped(std::string id, std::string owner,
                                         std::vector<std::string> members = {}) {
    JobRegistry::DroppedJob dropped;
    dropped.job.id = std::move(id);
    dropped.job.owner = std::move(owner);
    dropped.job.members = std::move(members);
    return dropped;
  }
  std::vector<std::string> Jobs() const {
    uint64_t version;
    std::vector<std::string> out;
    for (const BoundJob& job : bindings_.Jobs(&version))
      out.push_back(Cat(job.id, " of ", job.owner, job.owner_declared ? ", declared" : ""));
    return out;
  }

  JobRegistry bindings_;
};

TEST_F(OwnersTest, ClientOfAnotherOwnerCannotJoin) {
  EXPECT_EQ(Claim(1, Rank(kAlice, "j")), "j of uid:1000");
  EXPECT_THAT(Claim(2, Rank(kMallory, "j", 1)),
              StartsWith("other_owner: job \"j\" belongs to uid:1000"));
  EXPECT_THAT(Claim(2, Rank(kMallory, "j", 0)), StartsWith("other_owner: "));
  EXPECT_THAT(Claim(2, Rank("", "j", 1)), StartsWith("other_owner: "));
  EXPECT_THAT(Claim(2, Rank("uid:0", "j", 1)), StartsWith("other_owner: "))
      << "root is another owner, too";
  EXPECT_FALSE(bindings_.Holds(2));
  // The refused client cannot end the job or keep it alive.
  bindings_.Release(2, "completed", 0);
  EXPECT_THAT(bindings_.Expire(1000 * kSecond), IsEmpty());
  EXPECT_EQ(Claim(3, Rank(kAlice, "j", 1)), "j of uid:1000");
}

TEST_F(OwnersTest, GeneratedIdsContainOwner) {
  EXPECT_EQ(Claim(1, Rank(kAlice, "")), "u1000:train:77000 of uid:1000");
  EXPECT_EQ(Claim(2, Rank(kMallory, "", 1)), "u1001:train:77000 of uid:1001")
      << "the same name is not enough to join";
  EXPECT_EQ(Claim(3, Rank(kAlice, "", 1)), "u1000:train:77000 of uid:1000");
  EXPECT_EQ(Claim(4, Rank("pod:ab-c", "")), "pod-ab-c:train:77000 of pod:ab-c");
  EXPECT_THAT(
      Claim(5, Rank(kMallory, "u1000:next:78000")),
      StartsWith("other_owner: job \"u1000:next:78000\": IDs of this form are reserved for"));
  EXPECT_THAT(Claim(5, Rank(kMallory, "pod-ab-c:x")), StartsWith("other_owner: "));
}

TEST_F(OwnersTest, DeclarationDisplacesSquatter) {
  EXPECT_EQ(Claim(1, Rank(kMallory, "slurm-17")), "slurm-17 of uid:1001");
  JobClaim loud = Rank(kMallory, "slurm-17", 1);
  loud.labels = {{"team", "evil"}};
  loud.reference.platform = "process";
  loud.reference.uid = "666@n/1";
  Claim(2, loud);
  EXPECT_THAT(Claim(3, Rank(kAlice, "slurm-17")), StartsWith("other_owner: "));
  const uint64_t version = bindings_.version();
  bindings_.SetDropped({Dropped("slurm-17", kAlice)});
  EXPECT_GT(bindings_.version(), version);
  EXPECT_THAT(Jobs(), ElementsAre("slurm-17 of uid:1000, declared"));
  EXPECT_FALSE(bindings_.Holds(1));
  EXPECT_FALSE(bindings_.Holds(2));
  uint64_t v;
  EXPECT_THAT(bindings_.Jobs(&v)[0].processes, IsEmpty());
  EXPECT_EQ(bindings_.Jobs(&v)[0].reference, JobReference{});
  bindings_.Release(1, "completed", 0);
  EXPECT_THAT(bindings_.Expire(1000 * kSecond), IsEmpty());
  EXPECT_EQ(Claim(3, Rank(kAlice, "slurm-17")), "slurm-17 of uid:1000, declared");
  EXPECT_THAT(Claim(4, Rank(kMallory, "slurm-17", 1)),
              HasSubstr("belongs to uid:1000 (declared on this node)"));
}

TEST_F(OwnersTest, JobEndedBySquatter_CanStillBeDeclared) {
  Claim(1, Rank(kMallory, "slurm-17"));
  bindings_.Release(1, "completed", 0);
  JobClaim second = Rank(kMallory, "slurm-17", 1);
  Claim(2, second);
  bindings_.Release(2, "completed", 0);
  ASSERT_EQ(bindings_.Expire(5 * kSecond).size(), 1u);
  bindings_.SetDropped({Dropped("slurm-17", kMallory)});
  EXPECT_THAT(Jobs(), IsEmpty()) << "the owner's job has ended";
  bindings_.SetDropped({Dropped("slurm-17", kAlice)});
  EXPECT_THAT(Jobs(), ElementsAre("slurm-17 of uid:1000, declared"));
}

TEST_F(OwnersTest, DeclaredMembersMayJoinJob) {
  EXPECT_EQ(Claim(1, Rank("uid:0", "j")), "j of uid:0");
  bindings_.SetDropped({Dropped("j", kAlice, {"uid:0", "pod:p"})});
  EXPECT_FALSE(bindings_.Holds(1)) << "the client must register again for the new owner";
  EXPECT_EQ(Claim(2, Rank("uid:0", "j")), "j of uid:1000, declared");
  EXPECT_EQ(Claim(3, Rank("pod:p", "j", 1)), "j of uid:1000, declared");
  EXPECT_THAT(Claim(4, Rank("pod:q", "j", 1)), StartsWith("other_owner: "));
  bindings_.SetDropped({Dropped("j", kAlice, {"uid:0"})});
  EXPECT_TRUE(bindings_.Holds(2));
  EXPECT_FALSE(bindings_.Holds(3)) << "no longer a member";
}

TEST_F(OwnersTest, OptionWithoutOwner_BelongsToFirstClient) {
  JobDeclaration option;
  option.id = "o";
  bindings_.BindOption(option);
  EXPECT_EQ(Claim(1, Rank(kAlice, "o")), "o of uid:1000");
  EXPECT_THAT(Claim(2, Rank(kMallory, "o", 1)), StartsWith("other_owner: "));
  option.id = "p";
  option.owner = kAlice;
  bindings_.BindOption(option);
  bindings_.SetDropped({Dropped("p", kMallory)});
  EXPECT_THAT(Claim(3, Rank(kMallory, "p")), StartsWith("other_owner: "))
      << "the option takes precedence";
}

TEST_F(OwnersTest, DeclaredJobsAreExemptFromJobLimits) {
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(Claim(static_cast<uint64_t>(i + 1), Rank(kMallory, Cat("m", i))),
              Cat("m", i, " of uid:1001"));
  EXPECT_THAT(Claim(9, Rank(kMallory, "m9")),
              AllOf(StartsWith("jobs_per_owner: "),
                    HasSubstr("uid:1001 has 3 jobs on this node, the maximum set by "
                              "collector.limits.jobs_per_owner")));
  EXPECT_EQ(Claim(10, Rank(kAlice, "a")), "a of uid:1000");
  EXPECT_EQ(Claim(11, Rank("uid:7", "b")), "b of uid:7");
  EXPECT_THAT(Claim(12, Rank("uid:8", "c")), StartsWith("jobs: "));
  // Declared jobs are exempt from the limits on jobs known only from clients.
  bindings_.SetDropped({Dropped("d", kAlice), Dropped("e", "")});
  EXPECT_THAT(Jobs(), ::testing::Contains("d of uid:1000, declared"));
  EXPECT_EQ(Claim(13, Rank("uid:8", "e")), "e of uid:8");
}

TEST(OwnerName, AcceptsNamesAndIdsOfUsersAndPods) {
  EXPECT_EQ(*ParseOwner("root"), "uid:0");
  EXPECT_EQ(*ParseOwner(" 1000 "), "uid:1000");
  EXPECT_EQ(*ParseOwner("uid:1000"), "uid:1000");
  EXPECT_EQ(*ParseOwner("pod:ab-c"), "pod:ab-c");
  EXPECT_THAT(std::string(ParseOwner("no-such-user-here").status().message()),
              HasSubstr("no such user on this node; use uid:<number>"));
  for (const char* bad : {"", "uid:x", "pod:", "-1", "99999999999", "a\nb"})
    EXPECT_FALSE(ParseOwner(bad).ok()) << bad;
  EXPECT_THAT(*ParseOwners("root,pod:x"), ElementsAre("uid:0", "pod:x"));
  EXPECT_EQ(*ParseGroup("root"), 0);
  EXPECT_EQ(*ParseGroup("12"), 12);
  for (const char* bad : {"", "no-such-group-here", "99999999999"})
    EXPECT_FALSE(ParseGroup(bad).ok()) << bad;
}

TEST(TrustedPath, RejectsPathsThatOtherUsersCanReplace) {
  TestRoot root;
  root.Write("d/file", "text");
  const std::string dir = root.At("d");
  const std::string file = root.At("d/file");
  ASSERT_EQ(chmod(dir.c_str(), 0755), 0);
  ASSERT_EQ(chmod(file.c_str(), 0644), 0);
  EXPECT_TRUE(CheckOwnDirectory(dir).ok()) << CheckOwnDirectory(dir);
  EXPECT_EQ(*ReadTrustedFile(file, 100), "text");
  EXPECT_THAT(std::string(ReadTrustedFile(file, 3).status().message()), HasSubstr("longer than 3"));
  ASSERT_EQ(chmod(file.c_str(), 0664), 0);
  EXPECT_THAT(std::string(ReadTrustedFile(file, 100).status().message()),
              HasSubstr("the file is writable by others (mode 0664); run chmod go-w on it"));
  ASSERT_EQ(chmod(dir.c_str(), 01777), 0);
  EXPECT_THAT(std::string(CheckOwnDirectory(dir).message()),
              HasSubstr("the directory is writable by others (mode 1777)"));
  EXPECT_TRUE(CheckSharedDirectory(dir).ok()) << "the sticky bit protects the files";
  ASSERT_EQ(chmod(dir.c_str(), 0777), 0);
  EXPECT_FALSE(CheckSharedDirectory(dir).ok());
  std::filesystem::create_directory(root.At("d/below"));
  ASSERT_EQ(chmod(root.At("d/below").c_str(), 0755), 0);
  EXPECT_TRUE(CheckSharedDirectory(root.At("d/below")).ok());
  EXPECT_FALSE(CheckParents(root.At("d/below")).ok()) << "the directory can be renamed";
  EXPECT_FALSE(CheckOwnDirectory(root.At("d/below")).ok());
  ASSERT_EQ(mkfifo(root.At("fifo").c_str(), 0600), 0);
  EXPECT_THAT(std::string(ReadTrustedFile(root.At("fifo"), 100).status().message()),
              HasSubstr("not a regular file"));
  EXPECT_EQ(CheckOwnDirectory(root.At("nowhere")).code(), absl::StatusCode::kNotFound);
  if (geteuid() != 0) {
    GTEST_LOG_(INFO) << "NOTE: not running as root, so no file belongs to another user";
    return;
  }
  ASSERT_EQ(chmod(dir.c_str(), 0755), 0);
  ASSERT_EQ(chmod(file.c_str(), 0644), 0);
  ASSERT_EQ(chown(file.c_str(), 1001, 0), 0);
  EXPECT_THAT(std::string(ReadTrustedFile(file, 100).status().message()),
              HasSubstr("belongs to uid 1001"));
  ASSERT_EQ(chown(dir.c_str(), 1001, 0), 0);
  EXPECT_THAT(std::string(CheckOwnDirectory(dir).message()),
              HasSubstr("the directory belongs to uid 1001"));
}

TEST(DropFolderOwners, OnlyTrustedFilesDeclareOwners) {
  TestRoot root;
  Counters counters;
  root.Write("d/1", "job_id=a\nowner=root\nmembers=1000,pod:x\n");
  root.Write("d/2", "job_id=b\nowner=no-such-user-here\n");
  root.Write("d/3", "job_id=c\nmembers=1000\n");
  root.Write("d/4", "job_id=d\nowner=root\n");
  ASSERT_EQ(chmod(root.At("d").c_str(), 0755), 0);
  for (const char* name : {"d/1", "d/2", "d/3"}) ASSERT_EQ(chmod(root.At(name).c_str(), 0644), 0);
  ASSERT_EQ(chmod(root.At("d/4").c_str(), 0666), 0);
  JobFileDirectory folder(root.At("d"), &counters);
  for (int i = 0; i < 2; ++i) {
    const auto jobs = folder.Poll();
    ASSERT_EQ(jobs.size(), 1u);
    EXPECT_EQ(jobs[0].job.owner, "uid:0");
    EXPECT_THAT(jobs[0].job.members, ElementsAre("uid:1000", "pod:x"));
    EXPECT_EQ(counters.drop_files_bad, 3u);
  }
  ASSERT_EQ(chmod(root.At("d").c_str(), 0775), 0);
  EXPECT_THAT(folder.Poll(), IsEmpty());
  EXPECT_EQ(counters.drop_files_bad, 4u);
}

// Uses a real socket. The two owners are a user and a pod, because a test can run as only one user.
class SharesTest : public ::testing::Test {
 protected:
  SharesTest()
      : time_(clock_),
        bindings_({64, 5 * kSecond, 60 * kSecond, 600 * kSecond, 64}),
        publisher_(PublisherOptionsOf(), clock_, &appender_, &counters_, &cursors_),
        sender_(&publisher_),
        sessions_({"n1", root_.path(), 0, 4}, &bindings_, &sender_, nullptr, time_, clock_,
                  &counters_),
        me_(Cat("uid:", geteuid())) {
    options_.path = root_.At("socket");
    options_.root = root_.path();
    EXPECT_TRUE(publisher_.Start().ok());
  }
  ~SharesTest() override {
    server_.reset();
    publisher_.Stop();
  }
  static PublisherOptions PublisherOptionsOf() {
    PublisherOptions options;
    options.topic = "t";
    return options;
  }
  void Start() {
    server_ = std::make_unique<ClientServer>(options_, &sessions_, clock_, &counters_);
    const Status status = server_->Start();
    ASSERT_TRUE(status.ok()) << status;
  }
  uint64_t Refused(Refusal why) const {
    uint64_t sum = 0;
    for (const auto& count : counters_.refusals[static_cast<size_t>(why)]) sum += count;
    return sum;
  }
  // Moves this process into a pod by changing its control group file.
  void EnterPod() {
    root_.Write(Cat("proc/", getpid(), "/cgroup"),
                "0::/kubepods/pod0f7c2b1e-9a3d-4f55-8e21-6d5c4b3a2f10/7\n");
  }
  JobClaim ClaimOf(std::string owner, std::string job) const {
    JobClaim claim;
    claim.owner = std::move(owner);
    claim.job_id = std::move(job);
    return claim;
  }

  TestRoot root_;
  fakes::FakeClock clock_;
  fakes::FakeAppender appender_;
  Counters counters_;
  MonotonicEventClock time_;
  JobRegistry bindings_;
  ClientCursors cursors_;
  Publisher publisher_;
  BatchSender sender_;
  ClientSessions sessions_;
  const std::string me_;
  ServerOptions options_;
  std::unique_ptr<ClientServer> server_;
};

TEST_F(SharesTest, SilentConnectionsUseOnlyTheirOwnersShare) {
  options_.max_clients = 6;
  options_.max_clients_per_owner = 4;
  Start();
  std::vector<TestClient> silent;
  for (int i = 0; i < 4; ++i) {
    silent.emplace_back(options_.path);
    silent.back().Send(HelloOf(i, clock_.WallNs(), "mine"));
    EXPECT_EQ(silent.back().ReadWelcome().job_id(), "mine");
  }
  TestClient fifth(options_.path);
  EXPECT_THAT(fifth.ReadRefused(),
              AllOf(StartsWith("clients_per_owner: "), HasSubstr(me_ + " has 4 connections")));
  EnterPod();
  TestClient other(options_.path);
  other.Send(HelloOf(0, clock_.WallNs(), ""));
  EXPECT_THAT(other.ReadWelcome().job_id(), StartsWith("pod-0f7c2b1e-"));
  TestClient more(options_.path);
  more.Send(HelloOf(0, clock_.WallNs(), "mine"));
  EXPECT_THAT(more.ReadRefused(), StartsWith("other_owner: job \"mine\" belongs to " + me_));
  TestClient sixth(options_.path);
  sixth.Send(HelloOf(1, clock_.WallNs(), ""));
  sixth.ReadWelcome();
  TestClient seventh(options_.path);
  EXPECT_THAT(seventh.ReadRefused(), StartsWith("clients: the collector has 6 connections"));
  EXPECT_EQ(Refused(Refusal::kClientsOfOwner), 1u);
  EXPECT_EQ(Refused(Refusal::kClients), 1u);
  EXPECT_EQ(counters_.refusals[static_cast<size_t>(Refusal::kOtherOwner)][2], 1u)
      << "owner class pod";
  // Clients send a heartbeat every second. The connection of a silent client is closed, which frees
  // its slot.
  clock_.Advance(options_.idle_ns + kSecond);
  for (TestClient& client : silent) EXPECT_THAT(client.ReadRefused(), StartsWith("idle: "));
  EXPECT_GE(Refused(Refusal::kIdle), 4u);
  TestClient late(options_.path);
  late.Send(HelloOf(7, clock_.WallNs(), ""));
  EXPECT_NE(late.ReadWelcome().job_id(), "");
}

TEST_F(SharesTest, RankSilentForTenMinutes_StaysConnected) {
  Start();
  TestClient frozen(options_.path);
  frozen.Send(HelloOf(0, clock_.WallNs(), "mine"));
  EXPECT_EQ(frozen.ReadWelcome().job_id(), "mine");
  TestClient without_hello(options_.path);  // checked after the frozen rank
  while (counters_.clients_accepted < 2) std::this_thread::yield();
  clock_.Advance(600 * kSecond);
  EXPECT_THAT(without_hello.ReadRefused(), StartsWith("no_hello: "));
  EXPECT_EQ(Refused(Refusal::kIdle), 0u);
}

TEST_F(SharesTest, ClientWithoutHelloIsDisconnected) {
  Start();
  TestClient silent(options_.path);
  silent.SendBytes(std::string_view("\x10\x00\x00\x00x", 5));  // the beginning of a message
  while (counters_.clients_accepted < 1) std::this_thread::yield();
  clock_.Advance(options_.hello_within_ns + 2 * kSecond);
  EXPECT_THAT(silent.ReadRefused(), StartsWith("no_hello: "));
}

TEST_F(SharesTest, DeclarationClosesSquattersConnection) {
  Start();
  TestClient squatter(options_.path);
  squatter.Send(HelloOf(0, clock_.WallNs(), "slurm-17"));
  squatter.ReadWelcome();
  JobRegistry::DroppedJob dropped;
  dropped.job.id = "slurm-17";
  dropped.job.owner = "uid:4242";
  bindings_.SetDropped({dropped});
  squatter.Send(UpdateOf(1, clock_.WallNs()));
  EXPECT_THAT(squatter.ReadRefused(), StartsWith("displaced: job \"slurm-17\""));
  EXPECT_TRUE(squatter.AwaitClosed());
  TestClient again(options_.path);
  again.Send(HelloOf(0, clock_.WallNs(), "slurm-17"));
  EXPECT_THAT(again.ReadRefused(), StartsWith("other_owner: "));
  EXPECT_EQ(Refused(Refusal::kDisplaced), 1u);
  EXPECT_EQ(counters_.clients_lost, 0u) << "the displaced client cannot be resumed";
}

TEST_F(SharesTest, BatchesContainJobOwner) {
  Start();
  JobRegistry::DroppedJob dropped;
  dropped.job.id = "declared";
  dropped.job.owner = "uid:4242";
  dropped.job.members = {me_};
  bindings_.SetDropped({dropped});
  for (const char* job : {"declared", "own"}) {
    TestClient client(options_.path);
    client.Send(HelloOf(0, clock_.WallNs(), job));
    client.ReadWelcome();
    client.Send(GoodbyeOf("completed"));
    EXPECT_TRUE(client.AwaitClosed());
  }
  appender_.AwaitRecords(4);
  size_t seen = 0;
  for (const ReadBatch& batch : DecodeAll(appender_.records())) {
    ++seen;
    EXPECT_EQ(batch.owner, batch.job == "declared" ? "uid:4242" : me_);
    EXPECT_EQ(batch.owner_declared, batch.job == "declared");
  }
  EXPECT_EQ(seen, 4u);
}

// Buffers for incomplete messages are charged to their owner's share, so other owners' shares are
// not affected.
TEST_F(SharesTest, IncompleteMessagesUseOnlyTheirOwnersShare) {
  options_.max_buffered_bytes = 2 * (kMaxClientMessage + (64u << 10));
  Start();
  std::vector<TestClient> greedy;
  const std::string part = std::string("\x00\x00\x40\x00", 4) + std::string(3u << 20, 'x');
  for (int i = 0; i < 2; ++i) {
    greedy.emplace_back(options_.path);
    greedy.back().Send(HelloOf(i, clock_.WallNs(), "mine"));
    greedy.back().ReadWelcome();
  }
  greedy[0].SendBytes(part);
  EnterPod();
  TestClient other(options_.path);
  other.Send(HelloOf(0, clock_.WallNs(), ""));
  other.ReadWelcome();
  greedy[1].SendSome(part);
  EXPECT_THAT(greedy[1].ReadRefused(), StartsWith("buffered: "));
  // Another owner can still send a message.
  auto update = UpdateOf(1, clock_.WallNs());
  for (int i = 0; i < 30'000; ++i)
    AddSpan(&update, client::v1::SPAN_KIND_OPERATOR, std::string(80, 'm'), clock_.WallNs(),
            clock_.WallNs(), 1);
  other.Send(update);
  other.Send(GoodbyeOf("completed"));
  EXPECT_EQ(other.ReadRefused(), "") << "closed without a refusal";
}

TEST_F(SharesTest, RetainedSourcesAreSharedBetweenOwners) {
  const auto vanish = [&](uint64_t client, const Peer& peer, std::string_view job, int rank) {
    EXPECT_TRUE(
        sessions_.Handle(client, peer, HelloOf(rank, clock_.WallNs(), job).SerializeAsString())
            .ok());
    sessions_.Closed(client);
  };
  const Peer victim{0, 1000, ""};
  const Peer greedy{0, 1001, ""};
  vanish(2, victim, "victim", 0);
  for (int i = 0; i < 20; ++i) vanish(static_cast<uint64_t>(10 + i), greedy, "greedy", i);
  appender_.AwaitRecords(21);
  const uint64_t before = DecodeAll(appender_.records())[0].sequence;
  vanish(3, victim, "victim", 0);
  appender_.AwaitRecords(22);
  const auto batches = DecodeAll(appender_.records());
  EXPECT_EQ(batches.back().job, "victim");
  EXPECT_EQ(batches.back().sequence, before + 1) << "the same source continues";
}

TEST_F(SharesTest, SocketHasConfiguredModeAndGroup) {
  options_.mode = 0660;
  options_.group = getegid();
  Start();
  struct stat info {};
  ASSERT_EQ(stat(options_.path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0660u);
  EXPECT_EQ(info.st_gid, getegid());
  server_->Stop();
  const std::string dir = root_.At("shared");
  std::filesystem::create_directory(dir);
  ASSERT_EQ(chmod(dir.c_str(), 0777), 0);
  options_.path = dir + "/socket";
  ClientServer server(options_, &sessions_, clock_, &counters_);
  EXPECT_THAT(
      std::string(server.Start().message()),
      AllOf(HasSubstr("collector.socket"), HasSubstr("the directory is writable by others")));
}

}  // namespace
}  // namespace pitwall::collector
