#include "services/adapters/grpc/issue_proto.h"

#include <gtest/gtest.h>

#include <limits>

#include "services/codec/cloudevents/cloud_event.h"

namespace pitwall::grpc_adapter {
namespace {

IssueEvent Full() {
  IssueEvent e;
  e.type = EventType::kIssueResolved;
  e.id = "id";
  e.job = "a b";
  e.job_name = "n";
  e.reference = {"p", "c", "ns", "k", "nm", "u", "q"};
  e.attempt = std::numeric_limits<uint64_t>::max();
  e.rule = "p/g/A";
  e.alert = "A";
  e.labels = Labels{{"x", "1"}, {"y", "2"}};
  e.severity = "critical";
  e.time = EventTime::FromNs(-1);  // before 1970; nanoseconds stay positive
  e.active_since = EventTime::FromNs(1'999'999'999);
  e.onset = EventTime::FromNs(1'888'888'888);
  e.started_at = EventTime::FromNs(2'000'000'000);
  e.last_seen_at = EventTime::FromNs(3);
  e.ended_at = EventTime::FromNs(4);
  e.end_reason = EndReason::kJobEnded;
  e.sequence = 9;
  e.value = -0.5;
  e.parameters = {{"a", 1}, {"b", 2}};
  e.threshold = 0.0;
  e.step = 0;
  e.evidence = {{"e", Labels{{"l", "v"}}, 7}};
  e.summary = "s";
  e.description = "d";
  e.suggestion = "u";
  e.capture = "stacks";
  e.incident = "i";
  e.root_cause = "r";
  e.status = RuleStatus::kStopped;
  e.previous_status = RuleStatus::kError;
  e.status_reason = "why";
  e.ever_found = true;
  e.owner = "uid:1000";
  e.end_detail = EndDetail::kDied;
  e.job_change = JobChange::kRankLost;
  e.lost_rank = LostRank{7, "n", 9, 137, true};
  return e;
}

TEST(IssueProto, EveryFieldRoundTrips) {
  const IssueEvent event = Full();
  issues_v1::IssueEvent message;
  ToProto(event, &message);
  EXPECT_EQ(message.source(), "/pitwall/jobs/a%20b");
  EXPECT_EQ(message.issue(), IssueId(event));
  EXPECT_EQ(message.time().seconds(), -1);
  EXPECT_EQ(message.time().nanos(), 999'999'999);
  std::string bytes;
  ASSERT_TRUE(message.SerializeToString(&bytes));
  issues_v1::IssueEvent parsed;
  ASSERT_TRUE(parsed.ParseFromString(bytes));
  EXPECT_EQ(cloudevents::EncodeCloudEvent(FromProto(parsed)), cloudevents::EncodeCloudEvent(event));
}

TEST(IssueProto, AbsentFieldsStayAbsent) {
  IssueEvent event;
  event.id = "id";
  issues_v1::IssueEvent message;
  ToProto(event, &message);
  EXPECT_FALSE(message.has_ended_at());
  EXPECT_FALSE(message.has_step());
  EXPECT_FALSE(message.has_threshold());
  EXPECT_FALSE(message.job().has_reference());
  const IssueEvent back = FromProto(message);
  EXPECT_EQ(back.step, kNoStep);
  EXPECT_FALSE(back.threshold.has_value());
  EXPECT_EQ(back.ended_at, EventTime());
}

// The conversion is a cast, so the names and numbers must match.
TEST(IssueProto, EnumsHaveMatchingNumbers) {
  const auto same = [](std::string_view prefix, const std::string& proto_name,
                       std::string_view name) {
    std::string upper(prefix);
    for (size_t i = 0; i < name.size(); ++i) {
      if (i > 0 && name[i] >= 'A' && name[i] <= 'Z') upper.push_back('_');
      upper.push_back(name[i] >= 'a' && name[i] <= 'z' ? static_cast<char>(name[i] - 32) : name[i]);
    }
    EXPECT_EQ(proto_name, upper);
  };
  for (int i = 1; i < issues_v1::EndReason_ARRAYSIZE; ++i) {
    same("END_REASON_", issues_v1::EndReason_Name(static_cast<issues_v1::EndReason>(i)),
         EndReasonName(static_cast<EndReason>(i)));
  }
  for (int i = 1; i < issues_v1::EndDetail_ARRAYSIZE; ++i) {
    same("END_DETAIL_", issues_v1::EndDetail_Name(static_cast<issues_v1::EndDetail>(i)),
         EndDetailName(static_cast<EndDetail>(i)));
  }
  for (int i = 1; i < issues_v1::JobChange_ARRAYSIZE; ++i) {
    same("JOB_CHANGE_", issues_v1::JobChange_Name(static_cast<issues_v1::JobChange>(i)),
         JobChangeName(static_cast<JobChange>(i)));
  }
  for (int i = 1; i < issues_v1::RuleStatus_ARRAYSIZE; ++i) {
    same("RULE_STATUS_", issues_v1::RuleStatus_Name(static_cast<issues_v1::RuleStatus>(i)),
         RuleStatusName(static_cast<RuleStatus>(i)));
  }
}

TEST(IssueProto, UnknownNumbersAreAccepted) {
  issues_v1::IssueEvent message;
  message.set_type("io.pitwall.issue.invented");
  message.set_end_reason(static_cast<issues_v1::EndReason>(77));
  message.set_status(static_cast<issues_v1::RuleStatus>(-5));
  message.set_step(std::numeric_limits<uint64_t>::max());
  const IssueEvent event = FromProto(message);
  EXPECT_EQ(event.end_reason, EndReason::kNone);
  EXPECT_EQ(event.status, RuleStatus::kUnknown);
  EXPECT_EQ(event.step, kNoStep);
}

}  // namespace
}  // namespace pitwall::grpc_adapter
