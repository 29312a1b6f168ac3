#include "services/collector/jobs/reference_choice.h"

#include <gtest/gtest.h>

#include "services/base/text/strings.h"

namespace pitwall::collector {
namespace {

JobClient Process(int64_t rank, int64_t pid, int64_t user = 1000) {
  JobClient client;
  client.rank = rank;
  client.pid = pid;
  client.user = user;
  client.reference.platform = std::string(kProcessPlatform);
  client.reference.uid = Cat(pid, "@n1/", pid * 10);
  return client;
}

class ReferenceChoiceTest : public ::testing::Test {
 protected:
  std::string Uid() {
    choice_.Update(clients_);
    return choice_.Reference({}, clients_).uid;
  }

  ReferenceChoice choice_;
  JobClients clients_;
};

TEST_F(ReferenceChoiceTest, FirstProcess_IsKeptWhileItsClientExists) {
  clients_[1] = Process(1, 11);
  EXPECT_EQ(Uid(), "11@n1/110");
  clients_[2] = Process(0, 10);
  EXPECT_EQ(Uid(), "11@n1/110+10/100");
  clients_.erase(1);
  EXPECT_EQ(Uid(), "10@n1/100");
}

TEST_F(ReferenceChoiceTest, OtherUser_IsIgnored) {
  clients_[1] = Process(1, 11);
  EXPECT_EQ(Uid(), "11@n1/110");
  clients_[2] = Process(0, 10, 2000);
  EXPECT_EQ(Uid(), "11@n1/110");
}

TEST_F(ReferenceChoiceTest, FirstObject_ReplacesProcess) {
  clients_[1] = Process(1, 11);
  JobReference object;
  object.platform = "kubernetes";
  object.uid = "a";
  EXPECT_TRUE(choice_.SetObject(object));
  EXPECT_EQ(Uid(), "a");
  object.uid = "b";
  EXPECT_FALSE(choice_.SetObject(object));
  EXPECT_EQ(Uid(), "a");
}

TEST_F(ReferenceChoiceTest, DeclaredReference_IsPreferred) {
  clients_[1] = Process(1, 11);
  JobReference declared;
  declared.uid = "declared";
  choice_.Update(clients_);
  EXPECT_EQ(choice_.Reference(declared, clients_), declared);
}

}  // namespace
}  // namespace pitwall::collector
