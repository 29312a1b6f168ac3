// Tests jobs with a launcher that restarts the workers.
#include <gtest/gtest.h>

#include "services/base/clock.h"
#include "services/base/text/strings.h"
#include "services/collector/jobs/job_registry.h"

namespace pitwall::collector {
namespace {

class LaunchesTest : public ::testing::Test {
 protected:
  // Returns "<job>", followed by " first" if the job is new.
  std::string Claim(uint64_t client, const JobClaim& claim) {
    const auto claimed = bindings_.Claim(client, claim);
    if (!claimed.ok()) return std::string(claimed.status().message());
    bindings_.Announced(client);
    return Cat(claimed->job_id, claimed->first ? " first" : "");
  }

  JobRegistry bindings_{{4, 5 * kNanosPerSecond, 60 * kNanosPerSecond, 600 * kNanosPerSecond}};
};

// Returns the claim of a rank that torchrun started at the given time.
JobClaim Restarted(int64_t rank, int restarts, int64_t start_s, std::string launcher = "7@70") {
  JobClaim claim;
  claim.job_name = "train";
  claim.rank = rank;
  claim.world_size = 2;
  claim.pid = 1000 * start_s + rank;
  claim.client_start_ns = start_s * kNanosPerSecond;
  claim.owner = "uid:1000";
  claim.launcher = std::move(launcher);
  claim.labels = {{std::string(kRestartCount), Cat(restarts)}};
  return claim;
}

TEST_F(LaunchesTest, RestartBySameLauncher_IsNextAttemptOfJob) {
  const std::string job = "u1000:train:77000";
  EXPECT_EQ(Claim(1, Restarted(0, 0, 77)), job + " first");
  EXPECT_EQ(Claim(2, Restarted(1, 0, 78)), job);
  bindings_.Release(1, "failed", kNanosPerSecond);
  bindings_.Release(2, std::nullopt, kNanosPerSecond);
  bindings_.Died(job, 1);
  EXPECT_EQ(Claim(3, Restarted(1, 1, 90)), job);  // no client of the job is running at this point
  EXPECT_EQ(Claim(4, Restarted(0, 1, 91)), job);
  // The same applies if this node has released the job because all of its ranks died.
  for (const uint64_t client : {3, 4}) bindings_.Release(client, std::nullopt, 2 * kNanosPerSecond);
  for (const int64_t rank : {0, 1}) bindings_.Died(job, rank);
  EXPECT_EQ(bindings_.Expire(3 * kNanosPerSecond).size(), 1u);
  EXPECT_EQ(Claim(5, Restarted(0, 2, 95)), job + " first");
}

TEST_F(LaunchesTest, RunWithoutHigherCountOrSameLauncher_IsNewJob) {
  EXPECT_EQ(Claim(1, Restarted(0, 0, 77)), "u1000:train:77000 first");
  bindings_.Release(1, "failed", kNanosPerSecond);
  EXPECT_EQ(Claim(2, Restarted(0, 0, 80)), "u1000:train:80000 first");
  bindings_.Release(2, "failed", kNanosPerSecond);
  EXPECT_EQ(Claim(3, Restarted(0, 1, 90, "8@80")), "u1000:train:90000 first");
  bindings_.Release(3, "failed", kNanosPerSecond);
  // The end of that job is already in the log.
  bindings_.Expire(1000 * kNanosPerSecond);
  EXPECT_EQ(Claim(4, Restarted(0, 2, 95, "8@80")), "u1000:train:95000 first");
}

}  // namespace
}  // namespace pitwall::collector
