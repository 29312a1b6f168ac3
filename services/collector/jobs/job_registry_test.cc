#include "services/collector/jobs/job_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/clock.h"
#include "services/base/text/strings.h"
#include "services/collector/files/testing/temporary_root.h"
#include "services/collector/jobs/job_file_directory.h"
#include "tests/fakes/no_descriptors.h"

namespace pitwall::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kSecond = kNanosPerSecond;

class JobRegistryTest : public ::testing::Test {
 protected:
  JobRegistryTest() : bindings_({4, 5 * kSecond, 60 * kSecond, 600 * kSecond}) {}

  std::string Claim(uint64_t client, JobClaim claim) {
    const auto claimed = bindings_.Claim(client, claim);
    if (!claimed.ok()) return std::string(claimed.status().message());
    bindings_.Announced(client);
    return Cat(claimed->job_id, claimed->first ? " first" : "");
  }
  void DroppedJobs(const std::vector<JobDeclaration>& jobs) {
    std::vector<JobRegistry::DroppedJob> dropped;
    for (const JobDeclaration& job : jobs) dropped.push_back({job, "", {}});
    bindings_.SetDropped(dropped);
  }
  static JobClaim Rank(int64_t rank, std::string id = "j", int64_t world = 2) {
    JobClaim claim;
    claim.job_id = std::move(id);
    claim.job_name = "train";
    claim.rank = rank;
    claim.world_size = world;
    claim.client_start_ns = 77 * kSecond;
    claim.pid = 100 + rank;
    return claim;
  }
  // Rank with a process identified by the kernel.
  static JobClaim Process(int64_t rank, int64_t pid, int64_t user = 1000) {
    JobClaim claim = Rank(rank);
    claim.pid = pid;
    claim.user = user;
    claim.reference.platform = "process";
    claim.reference.uid = Cat(pid, "@n/1");
    return claim;
  }
  // Returns the uid from the reference of the only job.
  std::string Reference() const {
    uint64_t version;
    const auto jobs = bindings_.Jobs(&version);
    return jobs.size() == 1 ? jobs[0].reference.uid : "?";
  }
  std::vector<std::string> Jobs() const {
    uint64_t version;
    std::vector<std::string> ids;
    for (const BoundJob& job : bindings_.Jobs(&version)) ids.push_back(job.id);
    return ids;
  }
  std::vector<std::string> Expire(int64_t seconds) {
    std::vector<std::string> out;
    for (const EndedJob& job : bindings_.Expire(seconds * kSecond)) {
      out.push_back(Cat(job.id, job.ended ? " ended " : " let go ", job.reason));
    }
    return out;
  }

  JobRegistry bindings_;
};

TEST_F(JobRegistryTest, JobEndsAfterGoodbyesOfAllRanks) {
  EXPECT_EQ(Claim(1, Rank(0)), "j first");
  EXPECT_EQ(Claim(2, Rank(1)), "j");
  uint64_t version;
  const auto jobs = bindings_.Jobs(&version);
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_THAT(jobs[0].processes, ElementsAre(JobProcess{0, 100}, JobProcess{1, 101}));
  bindings_.Release(1, "completed", 10 * kSecond);
  EXPECT_GT(bindings_.version(), version);
  EXPECT_THAT(Expire(100), IsEmpty());
  bindings_.Release(2, "completed", 100 * kSecond);
  EXPECT_THAT(Expire(104), IsEmpty());
  EXPECT_THAT(Expire(105), ElementsAre("j ended completed"));
  EXPECT_THAT(Jobs(), IsEmpty());
}

TEST_F(JobRegistryTest, FailedJobHasGracePeriodForRestart) {
  Claim(1, Rank(0));
  Claim(2, Rank(1));
  bindings_.Release(1, "failed", 10 * kSecond);
  bindings_.Release(2, "completed", 10 * kSecond);
  EXPECT_THAT(Expire(69), IsEmpty());
  EXPECT_EQ(Claim(3, Rank(0)), "j");
  EXPECT_THAT(Expire(500), IsEmpty());
  bindings_.Release(3, "failed", 500 * kSecond);
  EXPECT_THAT(Expire(560), ElementsAre("j ended failed"));
}

TEST_F(JobRegistryTest, OnlyNodeOfRankZeroEndsMultiNodeJob) {
  Claim(1, Rank(4, "j", 8));
  bindings_.Release(1, "completed", 0);
  EXPECT_THAT(Expire(5), ElementsAre("j let go completed"));
  Claim(1, Rank(0, "k", 8));
  bindings_.Release(1, "completed", 0);
  EXPECT_THAT(Expire(5), ElementsAre("k ended completed"));
}

TEST_F(JobRegistryTest, LostConnectionExtendsGracePeriod) {
  Claim(1, Rank(0));
  Claim(2, Rank(1));
  bindings_.Release(1, "completed", 0);
  bindings_.Release(2, std::nullopt, 0);
  EXPECT_THAT(Expire(599), IsEmpty());
  // The rank reconnects and sends a goodbye.
  Claim(3, Rank(1));
  bindings_.Release(3, "completed", 599 * kSecond);
  EXPECT_THAT(Expire(604), ElementsAre("j ended completed"));
  Claim(4, Rank(0));
  bindings_.Release(4, std::nullopt, 700 * kSecond);
  EXPECT_THAT(Expire(1300), ElementsAre("j let go "));
  // A goodbye without a reason leaves the job's result unknown.
  Claim(5, Rank(0, "x", 1));
  bindings_.Release(5, "", 0);
  EXPECT_THAT(Expire(5), ElementsAre("x let go completed"));
}

TEST_F(JobRegistryTest, GeneratesIdsWithoutScheduler) {
  JobClaim claim = Rank(0, "");
  claim.job_start_ns = 1'700'000'000'123'456'789;
  EXPECT_EQ(Claim(1, claim), "train:1700000000123 first");
  claim.rank = 1;
  claim.client_start_ns = 5;
  EXPECT_EQ(Claim(2, claim), "train:1700000000123");
  // Clients without a job start belong to one job if they run concurrently.
  claim.job_start_ns = 0;
  claim.job_name = "other";
  claim.client_start_ns = 77 * kSecond;
  EXPECT_EQ(Claim(3, claim), "other:77000 first");
  claim.client_start_ns = 78 * kSecond;
  EXPECT_EQ(Claim(4, claim), "other:77000");
  bindings_.Release(3, std::nullopt, 0);
  bindings_.Release(4, std::nullopt, 0);
  EXPECT_EQ(Claim(5, claim), "other:78000 first");
}

// Two runs of the same script on one node have several ranks each and no job IDs.
TEST_F(JobRegistryTest, SecondRunOfScript_IsSeparateJob) {
  const auto claim = [](int64_t rank, int64_t pid, int64_t start_ns) {
    JobClaim out = Rank(rank, "");
    out.pid = pid;
    out.boot_id = Cat("boot of ", pid, "/", rank);
    out.client_start_ns = start_ns;
    return out;
  };
  EXPECT_EQ(Claim(1, claim(0, 10, 77 * kSecond)), "train:77000 first");
  EXPECT_EQ(Claim(2, claim(0, 20, 81 * kSecond)), "train:81000 first");
  EXPECT_EQ(Claim(3, claim(1, 21, 82 * kSecond)), "train:77000")
      << "assigned to the first run, because the runs cannot be distinguished";
  EXPECT_EQ(Claim(4, claim(1, 11, 82 * kSecond)), "train:81000");
  // The client reconnects before the loss of its old connection is detected.
  EXPECT_EQ(Claim(5, claim(0, 20, 81 * kSecond)), "train:81000");
  EXPECT_EQ(Claim(6, claim(0, 10, 77 * kSecond)), "train:77000");
  // Two runs start within the same millisecond.
  EXPECT_EQ(Claim(7, claim(0, 30, 81 * kSecond + 1)), "train:81001 first");
  // After a lost connection, each client rejoins its own job.
  bindings_.Release(2, std::nullopt, 90 * kSecond);
  bindings_.Release(5, std::nullopt, 90 * kSecond);
  bindings_.Release(7, std::nullopt, 90 * kSecond);
  EXPECT_EQ(Claim(8, claim(0, 20, 81 * kSecond)), "train:81000");
  EXPECT_EQ(Claim(9, claim(0, 30, 81 * kSecond + 1)), "train:81001");
}

// In a container, the collector may not know the PIDs of its clients.
TEST_F(JobRegistryTest, SecondRunWithoutPids_IsSeparateJob) {
  JobClaim claim = Rank(0, "");
  claim.pid = 0;
  claim.boot_id = "a";
  EXPECT_EQ(Claim(1, claim), "train:77000 first");
  EXPECT_EQ(Claim(2, claim), "train:77000") << "the same process";
  claim.boot_id = "b";
  claim.client_start_ns += 4 * kSecond;
  EXPECT_EQ(Claim(3, claim), "train:81000 first");
}

TEST_F(JobRegistryTest, RejectsInvalidIdsAndExcessJobs) {
  EXPECT_THAT(Claim(1, Rank(0, "__control")), HasSubstr("must not start with __ or node:"));
  EXPECT_THAT(Claim(1, Rank(0, "node:x")), HasSubstr("must not start with __ or node:"));
  EXPECT_THAT(Claim(1, Rank(0, std::string(300, 'x'))), HasSubstr("got 300"));
  EXPECT_THAT(Claim(1, Rank(0, "a\nb")), HasSubstr("must not contain control characters"));
  EXPECT_THAT(Claim(1, Rank(0, "a\xc2\x9b")), HasSubstr("must not contain control characters"));
  EXPECT_THAT(Claim(1, Rank(0, "a\xe2\x80\xae")), HasSubstr("must not contain control characters"));
  JobClaim nameless = Rank(0, "");
  nameless.job_name.clear();
  EXPECT_THAT(Claim(1, nameless), HasSubstr("must be set"));
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(Claim(static_cast<uint64_t>(i + 1), Rank(0, Cat("j", i))), Cat("j", i, " first"));
  EXPECT_THAT(Claim(9, Rank(0, "j9")), HasSubstr("set by collector.limits.jobs"));
}

TEST_F(JobRegistryTest, JobIsHiddenUntilAnnounced) {
  ASSERT_TRUE(bindings_.Claim(1, Rank(0)).ok());
  EXPECT_THAT(Jobs(), IsEmpty());
  bindings_.Announced(1);
  EXPECT_THAT(Jobs(), ElementsAre("j"));
}

TEST_F(JobRegistryTest, OptionsAndFilesBindJobs) {
  JobDeclaration option;
  option.id = "o";
  bindings_.BindOption(option);
  JobRegistry::DroppedJob dropped;
  dropped.job.id = "d";
  dropped.job.gpus = {0, 1};
  bindings_.SetDropped({dropped});
  EXPECT_THAT(Jobs(), ElementsAre("d", "o"));
  EXPECT_THAT(Expire(100'000), IsEmpty());
  const uint64_t version = bindings_.version();
  bindings_.SetDropped({dropped});
  EXPECT_EQ(bindings_.version(), version);
  EXPECT_EQ(Claim(1, Rank(0, "d")), "d");  // the job is already known
  dropped.ended = "stopped";
  bindings_.SetDropped({dropped});
  EXPECT_THAT(Expire(0), ElementsAre("d ended stopped"));
  dropped.ended.clear();
  bindings_.SetDropped({dropped});  // an ended job does not start again
  EXPECT_THAT(Jobs(), ElementsAre("o"));
  dropped.job.id = "e";
  bindings_.SetDropped({dropped});
  EXPECT_THAT(Jobs(), ElementsAre("e", "o"));
  bindings_.SetDropped({});
  EXPECT_THAT(Expire(1), ElementsAre("e let go "));
}

TEST(JobFileDirectory, ReadsFilesAndLogsErrorsOnce) {
  TestRoot root;
  Counters counters;
  JobFileDirectory missing(root.At("nowhere"), &counters);
  EXPECT_THAT(missing.Poll(), IsEmpty());
  root.Write("d/17",
             "# by the prolog\njob_id = "
             "slurm-17\njob_name=bert\nplatform=slurm\ncluster=c1\nnamespace=ns\nkind=Job\n"
             "name=17\nuid=u\nqueue=gpu\ngpus=0, 3\ncgroup=/slurm/job_17\nlabel.team=nlp\n");
  root.Write("d/18", "job_id=slurm-18\nended=failed\n");
  root.Write("d/19.tmp", "half a fi");
  root.Write("d/.hidden", "?");
  root.Write("d/bad", "job_id=x\nwhat=ever\n");
  root.Write("d/twin", "job_id=slurm-17\n");
  JobFileDirectory folder(root.At("d"), &counters);
  for (int i = 0; i < 2; ++i) {
    const auto jobs = folder.Poll();
    ASSERT_EQ(jobs.size(), 2u);
    EXPECT_EQ(jobs[0].job.id, "slurm-17");
    EXPECT_EQ(jobs[0].job.name, "bert");
    EXPECT_EQ(jobs[0].job.reference, (JobReference{"slurm", "c1", "ns", "Job", "17", "u", "gpu"}));
    EXPECT_THAT(jobs[0].job.gpus, ElementsAre(0, 3));
    EXPECT_EQ(jobs[0].job.cgroup, "/slurm/job_17");
    EXPECT_THAT(jobs[0].job.labels, ElementsAre(Label{"team", "nlp"}));
    EXPECT_EQ(jobs[1].ended, "failed");
    EXPECT_EQ(counters.drop_files_bad, 2u);
  }
  for (int i = 0; i < 270; ++i) root.Write(Cat("d/x", i), Cat("job_id=x", i));
  EXPECT_LE(folder.Poll().size(), 256u);
}

TEST(JobFileDirectory, ErrorsContainLineAndCause) {
  const std::pair<const char*, const char*> cases[] = {
      {"job_name=x\n", "job ID must not be empty"},
      {"job_id=x\nnonsense\n", "line 2: must be key=value"},
      {"job_id=x\n\ngpus=0,b\n", "line 3: must be a list of GPU"},
      {"job_id=x\ngpus=0,\n", "line 2: must be a list of GPU"},
      {"job_id=x\nended=maybe\n", "line 2: must be completed"},
      {"job_id=x\ncgroup=/a/../b\n", "line 2: must be a cgroup path"},
      {"job_id=node:x\n", "must not start with __ or node:"},
      {"job_id=a\tb\n", "must not contain control characters"},
      {"job_id=x\nlabel.a=\x7f\n", "line 2: must not contain control characters"},
      {"job_id=x\nlabel.\xe2\x81\xa6=1\n", "line 2: must not contain control characters"},
      {"job_id=x\njob_name=\xff\n", "line 2: must not contain control characters"},
      {"job_id=x\nlabel.=y\n", "unknown key"},
  };
  for (const auto& [text, why] : cases) {
    const auto parsed = JobFileDirectory::Parse(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_THAT(std::string(parsed.status().message()), HasSubstr(why));
  }
}

TEST(JobFileDirectory, ParsesJobEndFromEpilog) {
  const auto end = [](std::string_view lines) {
    const auto parsed = JobFileDirectory::Parse(Cat("job_id=x\n", lines));
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    return parsed.ok() ? parsed->platform_end : std::nullopt;
  };
  EXPECT_EQ(end("ended=failed\n"), std::nullopt) << "file of an earlier version";
  EXPECT_EQ(end("ended=failed\nexit_code=3\n"), (PlatformEnd{.signal = {}, .exit_code = 3}));
  EXPECT_EQ(end("ended=failed\nsignal=9\noom_killed=true\n"),
            (PlatformEnd{.signal = 9, .exit_code = {}, .oom_killed = true}));
  EXPECT_EQ(
      end("ended=cancelled\nsignal=15\ncause=time limit\n"),
      (PlatformEnd{.signal = 15, .exit_code = {}, .on_purpose = true, .cause = "time limit"}));
  EXPECT_TRUE(end("ended=requeued\n")->on_purpose);
  const std::pair<std::string, const char*> bad[] = {
      {"exit_code=3\n", "require an end"},
      {"ended=failed\nexit_code=256\n", "must be between 0 and 255"},
      {"ended=failed\nsignal=-1\n", "must be between 0 and 255"},
      {"ended=failed\noom_killed=maybe\n", "must be true or false"},
      {Cat("ended=failed\ncause=", std::string(101, 'x')), "cause too long"},
  };
  for (const auto& [text, why] : bad) {
    const auto parsed = JobFileDirectory::Parse(Cat("job_id=x\n", text));
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_THAT(std::string(parsed.status().message()), HasSubstr(why));
  }
}

TEST(JobFileDirectory, NewFileIsDetectedImmediately) {
  TestRoot root;
  Counters counters;
  root.Write("d/17", "job_id=slurm-17\n");
  JobFileDirectory folder(root.At("d"), &counters);
  EXPECT_TRUE(folder.Changed());
  folder.Poll();
  EXPECT_FALSE(folder.Changed());
  // A directory's timestamps are only as precise as the kernel's clock tick.
  for (int i = 0; i < 1000 && !folder.Changed(); ++i) root.Write(Cat("d/", 100 + i), "job_id=x\n");
  EXPECT_TRUE(folder.Changed());
}

// Pending data and rank deaths must be published before the job's end.
TEST_F(JobRegistryTest, EndByFile_WaitsOneSecondForRanks) {
  JobRegistry::DroppedJob job{{"j", "x", {}, {}, {}, ""}, "", {}};
  bindings_.SetDropped({job});
  Claim(1, Rank(0));
  Claim(2, Rank(1));
  job.ended = "cancelled";
  job.platform_end = PlatformEnd{.signal = 15, .exit_code = {}, .on_purpose = true, .cause = {}};
  bindings_.SetDropped({job});
  EXPECT_THAT(Expire(10), IsEmpty());
  bindings_.Release(1, "", 10 * kSecond);
  bindings_.Release(2, std::nullopt, 10 * kSecond);
  EXPECT_THAT(bindings_.Expire(10 * kSecond + kSecond / 2), IsEmpty());
  bindings_.Died("j", 1);
  const auto over = bindings_.Expire(10 * kSecond + kSecond / 2);
  ASSERT_EQ(over.size(), 1u);
  EXPECT_TRUE(over[0].ended);
  EXPECT_EQ(over[0].platform_end, job.platform_end);
}

TEST_F(JobRegistryTest, RequeuedJob_IsReleasedAndBoundAgain) {
  JobRegistry::DroppedJob job{{"j", "x", {}, {}, {}, ""}, "", {}};
  bindings_.SetDropped({job});
  Claim(1, Rank(0));
  job.ended = kRequeued;
  job.platform_end =
      PlatformEnd{.signal = {}, .exit_code = 0, .on_purpose = true, .cause = "requeued"};
  bindings_.SetDropped({job});
  EXPECT_THAT(Expire(10), IsEmpty()) << "remaining ranks have one second";
  const auto over = bindings_.Expire(11 * kSecond);
  ASSERT_EQ(over.size(), 1u);
  EXPECT_FALSE(over[0].ended) << "the job will be started again";
  EXPECT_EQ(over[0].platform_end->cause, "requeued");
  bindings_.SetDropped({job});
  EXPECT_THAT(Jobs(), IsEmpty()) << "an existing file does not bind the job again";
  job.ended = "";
  bindings_.SetDropped({job});
  EXPECT_EQ(Jobs().size(), 1u);
}

TEST_F(JobRegistryTest, JobFromOption_AdoptsClientsProcess) {
  bindings_.BindOption({"j", "x", {}, {}, {}, ""});
  EXPECT_EQ(Reference(), "");
  Claim(1, Process(3, 13));
  EXPECT_EQ(Reference(), "13@n/1");
  Claim(2, Process(0, 10));
  EXPECT_EQ(Reference(), "13@n/1+10/1") << "the first process is kept while it runs";
}

TEST_F(JobRegistryTest, DeclaredReferenceIsKept) {
  DroppedJobs({{"j", "x", {"slurm", "c", "", "", "", "42", ""}, {}, {}, ""}});
  Claim(1, Process(0, 10));
  EXPECT_EQ(Reference(), "42");
}

TEST_F(JobRegistryTest, FileWithoutReference_KeepsClientsReference) {
  DroppedJobs({{"j", "x", {}, {}, {}, ""}});
  Claim(1, Process(0, 10));
  uint64_t version;
  bindings_.Jobs(&version);
  DroppedJobs({{"j", "x", {}, {}, {}, ""}});
  EXPECT_EQ(Reference(), "10@n/1");
  EXPECT_EQ(bindings_.version(), version);
}

TEST_F(JobRegistryTest, ReferenceFollowsRunningProcesses) {
  Claim(1, Process(0, 10));
  Claim(2, Process(1, 11));
  Claim(3, Process(2, 12));
  bindings_.Release(1, std::nullopt, kSecond);
  EXPECT_EQ(Reference(), "11@n/1+12/1") << "the lowest remaining rank";
  Claim(4, Process(0, 20));
  EXPECT_EQ(Reference(), "11@n/1+20/1+12/1") << "no change to a lower rank";
  for (uint64_t client : {2, 3, 4}) bindings_.Release(client, std::nullopt, kSecond);
  EXPECT_EQ(Reference(), "20@n/1") << "no other process is left";
  Claim(5, Process(1, 31));
  EXPECT_EQ(Reference(), "31@n/1");
  // The same process reconnects before the loss of its old connection is detected.
  Claim(6, Process(1, 31));
  Claim(7, Process(0, 30));
  bindings_.Release(5, std::nullopt, kSecond);
  EXPECT_EQ(Reference(), "31@n/1+30/1");
}

TEST_F(JobRegistryTest, ReferenceWithTooManyProcesses_IsMarked) {
  for (int rank = 0; rank < 128; ++rank) Claim(1 + rank, Process(rank, 100 + rank));
  EXPECT_TRUE(Reference().starts_with("100@n/1+101/1+102/1")) << Reference();
  EXPECT_TRUE(Reference().ends_with("+227/1")) << Reference();
  Claim(1000, Process(128, 300));
  EXPECT_EQ(Reference(), "100@n/1+more");
}

TEST_F(JobRegistryTest, NoDeclaration_PodOwnerIsReference) {
  const JobReference object{"kubernetes", "", "ml", "Job", "llm", "u7", ""};
  JobClaim claim = Process(0, 10);
  claim.owner = "pod:u";
  Claim(1, claim);
  bindings_.SetObject("another", object);
  uint64_t before;
  uint64_t after;
  bindings_.Jobs(&before);
  bindings_.SetObject("j", object);
  bindings_.Jobs(&after);
  EXPECT_GT(after, before) << "the change must be published";
  EXPECT_EQ(Reference(), "u7");
  bindings_.SetObject("j", {"kubernetes", "", "ml", "Job", "other", "u8", ""});
  EXPECT_EQ(Reference(), "u7") << "the first object is kept";
  // A declaration takes precedence, even if it comes later.
  DroppedJobs({{"j", "x", {"slurm", "c", "", "", "", "42", ""}, {}, {}, ""}});
  EXPECT_EQ(Reference(), "42");
  DroppedJobs({{"j", "x", {}, {}, {}, "", "uid:1"}});
  EXPECT_EQ(Reference(), "") << "data of the displaced owner is dropped";
}

TEST_F(JobRegistryTest, ClientsReferencePrecedesPodOwner) {
  JobClaim claim = Process(0, 10);
  claim.reference = {"kubernetes", "", "ml", "PyTorchJob", "llm", "u1", ""};
  Claim(1, claim);
  bindings_.SetObject("j", {"kubernetes", "", "ml", "Job", "llm", "u7", ""});
  EXPECT_EQ(Reference(), "u1");
}

TEST_F(JobRegistryTest, FinishedProcessIsNotReferenced) {
  Claim(1, Process(0, 10));
  Claim(2, Process(1, 11));
  bindings_.Release(1, "completed", kSecond);
  EXPECT_EQ(Reference(), "11@n/1");
  bindings_.Release(2, "completed", kSecond);
  EXPECT_EQ(Reference(), "11@n/1");
}

TEST_F(JobRegistryTest, ProcessOfAnotherUserIsNeverReferenced) {
  Claim(1, Process(1, 11, 1000));
  Claim(2, Process(0, 66, 2000));
  bindings_.Release(1, std::nullopt, kSecond);
  EXPECT_EQ(Reference(), "11@n/1");
  Claim(3, Process(1, 21, 1000));
  EXPECT_EQ(Reference(), "21@n/1");
}

// If a directory cannot be listed, its jobs are kept (issue 26, F3).
TEST(JobFileDirectory, WithoutDescriptors_KeepsItsJobs) {
  TestRoot root;
  Counters counters;
  root.Write("d/one", "job_id=one\n");
  JobFileDirectory folder(root.At("d"), &counters);
  ASSERT_EQ(folder.Poll().size(), 1u);
  {
    fakes::NoDescriptors none;
    EXPECT_EQ(folder.Poll().size(), 1u);
    none.Free(1);  // enough for the directory but not for a file in it
    EXPECT_EQ(folder.Poll().size(), 1u);
  }
  root.Remove("d/one");
  EXPECT_EQ(folder.Poll().size(), 0u);
}

}  // namespace
}  // namespace pitwall::collector
