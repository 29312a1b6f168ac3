#include "services/notifier/receivers/kinds/receiver_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "services/notifier/receivers/testing/configured_receiver.h"

namespace pitwall::notifier {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST(ReceiverKinds, EachKind_HasItsOwnListAndRequiresName) {
  std::set<std::string_view> lists;
  for (const ReceiverKind& kind : ReceiverKinds()) {
    EXPECT_TRUE(lists.insert(kind.key).second) << kind.key;
    EXPECT_FALSE(kind.item.empty() || kind.help.empty()) << kind.key;
    const auto settings = kind.settings();
    ASSERT_NE(settings, nullptr) << kind.key;
    EXPECT_NE(settings, kind.settings()) << kind.key;  // each receiver has its own settings
    GivenKeys keys({});
    settings->Keys(keys);
    EXPECT_EQ(std::set<std::string>(keys.keys.begin(), keys.keys.end()).size(), keys.keys.size())
        << kind.key;
    EXPECT_THAT(keys.problems, Contains(HasSubstr("requires a name"))) << kind.key;
  }
}

TEST(ReceiverKinds, Cluster_HasOneReceiverPerMember) {
  const auto one = Configured(AlertmanagerKind(), {{"name", "am"}, {"urls", "http://a:9093"}});
  ASSERT_TRUE(one.ok()) << one.status();
  ASSERT_EQ(one->size(), 1u);
  EXPECT_EQ(one->front().delivery.name, "am");
  EXPECT_EQ(one->front().delivery.notify, NotifyMode::kStates);
}

TEST(ReceiverKinds, Webhook_SymptomsImplyEvents) {
  const auto symptoms = Configured(
      WebhookKind(), {{"name", "w"}, {"url", "https://x.invalid"}, {"notify_symptoms", "true"}});
  ASSERT_TRUE(symptoms.ok()) << symptoms.status();
  EXPECT_EQ(symptoms->front().delivery.notify, NotifyMode::kEvents);
  const auto plain = Configured(WebhookKind(), {{"name", "w"}, {"url", "https://x.invalid"}});
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(plain->front().delivery.notify, NotifyMode::kIncidents);
}

TEST(ReceiverKinds, Slack_AddressIsRead) {
  const auto slack = Configured(SlackKind(), {{"name", "s"}, {"url", "env:SLACK"}});
  ASSERT_TRUE(slack.ok()) << slack.status();
  EXPECT_EQ(slack->front().receiver->identity(), "secret of env:SLACK");
}

}  // namespace
}  // namespace pitwall::notifier
