#include "services/history/peers/job_locator.h"

#include <gtest/gtest.h>

#include <string>

#include "services/history/peers/testing/fleet_fixture.h"

namespace pitwall::history {
namespace {

class JobLocatorTest : public ::testing::Test {
 protected:
  // Returns an ID that the process owns.
  std::string IdOf(int process) const {
    for (int i = 0;; ++i) {
      std::string id = Cat("job-", i);
      if (fleet_.OwnerOf(id) == process) return id;
    }
  }
  const JobLocator& locator() { return fleet_.fleet(0).fleet(); }

  TestFleet fleet_{2};
};

TEST_F(JobLocatorTest, FindsOwner) {
  const std::string id = IdOf(1);
  fleet_.Edit(id, [](VectorHistory::Job*) {});
  const StatusOr<JobHolder> holder = locator().Holder(id);
  ASSERT_TRUE(holder.ok()) << holder.status();
  EXPECT_EQ(holder->index, 1);
  EXPECT_EQ(holder->id, id);
  EXPECT_TRUE(absl::IsUnimplemented(locator().CheckStoredHere(id)));
}

TEST_F(JobLocatorTest, OwnerWithoutData_AnotherProcessHoldsJob) {
  const std::string id = IdOf(1);
  fleet_.own(0).Edit(id, [](VectorHistory::Job*) {});
  EXPECT_EQ(locator().Holder(id)->index, 0);
  EXPECT_TRUE(locator().CheckStoredHere(id).ok());
}

TEST_F(JobLocatorTest, PeerIsDown_JobMayExist) {
  fleet_.network.SetDown(1, true);
  EXPECT_TRUE(absl::IsUnavailable(locator().Holder(IdOf(1)).status()));
  const JobLocator::HeldJobs all = locator().AllJobs();
  EXPECT_TRUE(all.jobs.empty());
  EXPECT_EQ(all.missing.Texts(),
            std::vector<std::string>{"jobs of peer 1 are missing: peer 1 (http://1) does not "
                                     "respond: connection refused"});
}

}  // namespace
}  // namespace pitwall::history
