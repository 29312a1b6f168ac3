#include "services/collector/clients/hello.h"

#include <gtest/gtest.h>

#include "services/base/clock.h"
#include "services/collector/ranks/client_update.h"

namespace pitwall::collector {
namespace {

client::v1::Hello ValidHello() {
  client::v1::Hello hello;
  hello.set_protocol(1);
  hello.set_boot_id("b");
  hello.set_start_unix_ns(5);
  hello.set_job_name("train");
  return hello;
}

TEST(HelloTest, CheckHello_RejectsMissingFieldsAndInvalidTexts) {
  EXPECT_TRUE(CheckHello(ValidHello()).ok());
  client::v1::Hello hello = ValidHello();
  hello.set_protocol(2);
  EXPECT_FALSE(CheckHello(hello).ok());
  hello = ValidHello();
  hello.clear_boot_id();
  EXPECT_FALSE(CheckHello(hello).ok());
  hello = ValidHello();
  hello.set_job_name(std::string(kMaxClientText + 1, 'x'));
  EXPECT_FALSE(CheckHello(hello).ok());
  hello = ValidHello();
  hello.set_queue("a\nb");
  EXPECT_FALSE(CheckHello(hello).ok());
  hello = ValidHello();
  hello.add_labels()->set_name("");
  EXPECT_FALSE(CheckHello(hello).ok());
}

TEST(HelloTest, ClaimOf_TakesProcessAndOwnerFromKernel) {
  client::v1::Hello hello = ValidHello();
  hello.set_pid(1);
  const JobClaim claim = ClaimOf(hello, {.pid = 77, .uid = 1000, .pod = ""});
  EXPECT_EQ(claim.pid, 77);
  EXPECT_EQ(claim.user, 1000);
  EXPECT_EQ(claim.owner, "uid:1000");
  EXPECT_EQ(claim.job_name, "train");
}

TEST(HelloTest, StartEvents_AnnouncesNewJobOrNewLabels) {
  const client::v1::Hello hello = ValidHello();
  const JobClaim claim = ClaimOf(hello, {});
  JobRegistry::Claimed claimed;
  EXPECT_TRUE(StartEvents(hello, claim, claimed).empty());
  claimed.news = {{"lr", "1"}};
  auto events = StartEvents(hello, claim, claimed);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].name, "");
  EXPECT_EQ(events[0].labels.size(), 1u);
  claimed.first = true;
  events = StartEvents(hello, claim, claimed);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].name, "train");
  EXPECT_EQ(events[0].time.ns(), 5);
}

TEST(HelloTest, FirstSequence_ExceedsPreviousCollectorsSequences) {
  EXPECT_EQ(FirstSequence(0, std::nullopt), 1u);
  EXPECT_EQ(FirstSequence(2 * kNanosPerSecond, std::nullopt), 201u);
  ClientCursor known;
  known.batch = 500;
  EXPECT_EQ(FirstSequence(2 * kNanosPerSecond, known), 501u);
  known.batch = 7;
  EXPECT_EQ(FirstSequence(2 * kNanosPerSecond, known), 201u);
}

}  // namespace
}  // namespace pitwall::collector
