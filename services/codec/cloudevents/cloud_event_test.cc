#include "services/codec/cloudevents/cloud_event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/codec/json/json_writer.h"
#include "services/model/value.h"

namespace pitwall::cloudevents {
namespace {

using ::testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();

IssueEvent Sample() {
  IssueEvent e;
  e.type = EventType::kIssueUpdated;
  e.job = "team a/job#1";
  e.job_name = "gpt \"large\"";
  e.owner = "uid:1000";
  e.reference = {"kubernetes", "c1", "ml", "PyTorchJob", "gpt", "u-1", "gold"};
  e.attempt = 3;
  e.rule = "bottleneck/io/CPUBottleneck#2";
  e.alert = "CPUBottleneck";
  e.labels = Labels{{"severity", "warning"}, {"alertname", "CPUBottleneck"}, {"node", "n7"}};
  e.severity = "warning";
  e.time = EventTime::FromNs(1'795'269'600'000'000'001);
  e.active_since = EventTime::FromNs(1'795'269'500'000'000'000);
  e.started_at = EventTime::FromNs(1'795'269'530'000'000'000);
  e.last_seen_at = EventTime::FromNs(1'795'269'600'000'000'001);
  e.sequence = 2;
  e.value = 0.1;
  e.parameters = {{"zeta", 10}, {"alpha", -0.0}, {"limit", kInf}};
  e.threshold = 1e21;
  e.step = 0;
  e.evidence = {{"hw_gpu_utilization_ratio", Labels{{"gpu", "3"}}, 0.25}, {"x", {}, -kInf}};
  e.summary = "line\nbreak \xff tab\t";
  e.description = "d";
  e.suggestion = "s";
  e.capture = "stacks";
  e.onset = e.active_since - Duration::Nanos(7);
  e.incident = "0011";
  e.root_cause = "storage";
  e.id = MakeEventId(e);
  return e;
}

// Compares all fields except those that contain the byte 0xff, which is not valid UTF-8.
void ExpectSame(const IssueEvent& a, const IssueEvent& b) {
  EXPECT_EQ(a.type, b.type);
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.job, b.job);
  EXPECT_EQ(a.job_name, b.job_name);
  EXPECT_EQ(a.owner, b.owner);
  EXPECT_EQ(a.reference, b.reference);
  EXPECT_EQ(a.attempt, b.attempt);
  EXPECT_EQ(a.rule, b.rule);
  EXPECT_EQ(a.alert, b.alert);
  EXPECT_EQ(a.labels, b.labels);
  EXPECT_EQ(a.severity, b.severity);
  EXPECT_EQ(a.time, b.time);
  EXPECT_EQ(a.active_since, b.active_since);
  EXPECT_EQ(a.started_at, b.started_at);
  EXPECT_EQ(a.last_seen_at, b.last_seen_at);
  EXPECT_EQ(a.ended_at, b.ended_at);
  EXPECT_EQ(a.end_reason, b.end_reason);
  EXPECT_EQ(a.sequence, b.sequence);
  EXPECT_EQ(a.parameters, b.parameters);
  EXPECT_EQ(a.threshold, b.threshold);
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.evidence, b.evidence);
  EXPECT_EQ(a.description, b.description);
  EXPECT_EQ(a.suggestion, b.suggestion);
  EXPECT_EQ(a.capture, b.capture);
  EXPECT_EQ(a.onset, b.onset);
  EXPECT_EQ(a.incident, b.incident);
  EXPECT_EQ(a.root_cause, b.root_cause);
  EXPECT_EQ(a.status, b.status);
  EXPECT_EQ(a.previous_status, b.previous_status);
  EXPECT_EQ(a.status_reason, b.status_reason);
  EXPECT_EQ(a.ever_found, b.ever_found);
  EXPECT_EQ(a.end_detail, b.end_detail);
  EXPECT_EQ(a.job_change, b.job_change);
  EXPECT_EQ(a.lost_rank, b.lost_rank);
  if (std::isnan(a.value)) {
    EXPECT_TRUE(std::isnan(b.value));
  } else {
    EXPECT_EQ(a.value, b.value);
    EXPECT_EQ(std::signbit(a.value), std::signbit(b.value));
  }
}

TEST(CloudEvent, GoldenIssue) {
  const IssueEvent e = Sample();
  EXPECT_EQ(
      EncodeCloudEvent(e),
      Cat(R"({"specversion":"1.0","id":")", e.id,
          R"(","source":"/pitwall/jobs/team%20a%2Fjob%231","type":"io.pitwall.issue.updated",)"
          R"("subject":"bottleneck/io/CPUBottleneck#2","time":"2026-11-21T14:00:00.000000001Z",)"
          R"("datacontenttype":"application/json","data":{"job":{"id":"team a/job#1",)"
          R"("name":"gpt \"large\"","owner":"uid:1000","reference":{"platform":"kubernetes","cluster":"c1",)"
          R"("namespace":"ml","kind":"PyTorchJob","name":"gpt","uid":"u-1","queue":"gold"}},)"
          R"("attempt":3,"issue":")",
          IssueId(e),
          R"(","rule":"bottleneck/io/CPUBottleneck#2","alert":"CPUBottleneck",)"
          R"("labels":{"alertname":"CPUBottleneck","node":"n7","severity":"warning"},)"
          R"("severity":"warning","active_since":"2026-11-21T13:58:20.000000000Z",)"
          R"("onset_at":"2026-11-21T13:58:19.999999993Z",)"
          R"("started_at":"2026-11-21T13:58:50.000000000Z",)"
          R"("last_seen_at":"2026-11-21T14:00:00.000000001Z","sequence":2,"value":0.1,)"
          R"("parameters":{"zeta":10,"alpha":-0.0,"limit":"+Inf"},"threshold":1e+21,"step":0,)"
          R"("evidence":[{"name":"hw_gpu_utilization_ratio","labels":{"gpu":"3"},"value":0.25},)"
          R"({"name":"x","value":"-Inf"}],"summary":"line\nbreak )",
          "\xEF\xBF\xBD",
          R"( tab\t","description":"d","suggestion":"s","capture":"stacks","incident":"0011",)",
          R"("root_cause":"storage"}})"));
}

TEST(CloudEvent, GoldenStatusOmitsAbsentFields) {
  IssueEvent e;
  e.type = EventType::kRuleStatus;
  e.id = "ab";
  e.job = "j";
  e.rule = "p/g/A";
  e.status = RuleStatus::kNoData;
  e.previous_status = RuleStatus::kInProgress;
  e.status_reason = "no hw_gpu_utilization_ratio";
  EXPECT_EQ(EncodeCloudEvent(e),
            R"({"specversion":"1.0","id":"ab","source":"/pitwall/jobs/j","type":)"
            R"("io.pitwall.rule.status","subject":"p/g/A","time":"1970-01-01T00:00:00.000000000Z",)"
            R"("datacontenttype":"application/json","data":{"job":{"id":"j"},"attempt":0,"rule":)"
            R"("p/g/A","sequence":0,"status":"NoData","previous_status":"InProgress",)"
            R"("status_reason":"no hw_gpu_utilization_ratio","ever_found":false}})");
}

TEST(CloudEvent, IssueEventsRoundTrip) {
  IssueEvent e = Sample();
  StatusOr<IssueEvent> back = DecodeCloudEvent(EncodeCloudEvent(e));
  ASSERT_TRUE(back.ok()) << back.status();
  ExpectSame(e, *back);
  EXPECT_EQ(back->summary, "line\nbreak \xEF\xBF\xBD tab\t");
  EXPECT_TRUE(std::signbit(back->parameters[1].second));

  e.type = EventType::kIssueResolved;
  e.ended_at = e.time;
  e.end_reason = EndReason::kNoData;
  e.value = NormalNan();
  e.threshold.reset();
  e.step = kNoStep;
  e.attempt = std::numeric_limits<uint64_t>::max();
  back = DecodeCloudEvent(EncodeCloudEvent(e));
  ASSERT_TRUE(back.ok()) << back.status();
  ExpectSame(e, *back);
}

TEST(CloudEvent, RandomValuesRoundTrip) {
  const uint32_t seed = 20261121;
  std::mt19937_64 random(seed);
  SCOPED_TRACE(seed);
  IssueEvent e = Sample();
  for (int i = 0; i < 2000; ++i) {
    e.value = std::bit_cast<double>(random());
    e.time = EventTime::FromNs(static_cast<int64_t>(random() >> 2));
    e.ended_at = e.time.Previous();
    e.step = static_cast<int64_t>(random() >> 1);
    e.job.assign(1, static_cast<char>(1 + random() % 127));
    const StatusOr<IssueEvent> back = DecodeCloudEvent(EncodeCloudEvent(e));
    ASSERT_TRUE(back.ok()) << back.status();
    ASSERT_NO_FATAL_FAILURE(ExpectSame(e, *back));
  }
}

TEST(CloudEvent, AllEnumNamesRoundTrip) {
  IssueEvent e = Sample();
  for (int i = 0; i < 6; ++i) {
    e.end_reason = static_cast<EndReason>(i);
    EXPECT_EQ(DecodeCloudEvent(EncodeCloudEvent(e))->end_reason, e.end_reason);
  }
  for (int i = 0; i < 7; ++i) {
    e.type = EventType::kRuleStatus;
    e.status = static_cast<RuleStatus>(i);
    EXPECT_EQ(DecodeCloudEvent(EncodeCloudEvent(e))->status, e.status);
  }
  for (int i = 0; i < 7; ++i) {
    e.end_detail = static_cast<EndDetail>(i);
    EXPECT_EQ(DecodeCloudEvent(EncodeCloudEvent(e))->end_detail, e.end_detail);
  }
  for (int i = 1; i < 6; ++i) {
    e.type = EventType::kJobChanged;
    e.job_change = static_cast<JobChange>(i);
    EXPECT_EQ(DecodeCloudEvent(EncodeCloudEvent(e))->job_change, e.job_change);
  }
}

TEST(CloudEvent, GoldenJobChange) {
  IssueEvent e;
  e.type = EventType::kJobChanged;
  e.id = "id";
  e.job = "j";
  e.attempt = 2;
  e.time = e.active_since = EventTime::FromNs(1'795'269'600'000'000'000);
  e.job_change = JobChange::kRankLost;
  e.end_detail = EndDetail::kDied;
  e.lost_rank = LostRank{3, "n7", 9, std::nullopt, true};
  e.sequence = 4;
  const std::string json = EncodeCloudEvent(e);
  EXPECT_EQ(
      json,
      R"({"specversion":"1.0","id":"id","source":"/pitwall/jobs/j","type":"io.pitwall.job.changed",)"
      R"("time":"2026-11-21T14:00:00.000000000Z","datacontenttype":"application/json",)"
      R"("data":{"job":{"id":"j"},"attempt":2,"active_since":"2026-11-21T14:00:00.000000000Z",)"
      R"("sequence":4,"end_detail":"died","job_change":"rank_lost",)"
      R"("lost_rank":{"rank":3,"node":"n7","signal":9,"oom_killed":true}}})");
  StatusOr<IssueEvent> back = DecodeCloudEvent(json);
  ASSERT_TRUE(back.ok()) << back.status();
  ExpectSame(e, *back);
  e.job_change = JobChange::kNone;
  EXPECT_FALSE(DecodeCloudEvent(EncodeCloudEvent(e)).ok());
  e.job_change = JobChange::kRankLost;
  e.lost_rank->signal = 256;
  EXPECT_FALSE(DecodeCloudEvent(EncodeCloudEvent(e)).ok());
}

// Replaces the first occurrence of `from` in the golden sample with `to`, and returns the decoding
// error.
std::string ErrorWith(std::string_view from, std::string_view to) {
  std::string json = EncodeCloudEvent(Sample());
  const size_t at = json.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  json.replace(at, from.size(), to);
  const StatusOr<IssueEvent> back = DecodeCloudEvent(json);
  EXPECT_EQ(back.status().code(), absl::StatusCode::kInvalidArgument) << json;
  return std::string(ToStd(back.status().message()));
}

TEST(CloudEvent, ErrorsContainInvalidKey) {
  EXPECT_THAT(ErrorWith("\"1.0\"", "\"0.3\""), HasSubstr("specversion: must be \"1.0\""));
  EXPECT_THAT(ErrorWith("io.pitwall.issue.updated", "com.example.x"), HasSubstr("type: unknown"));
  EXPECT_THAT(ErrorWith("\"attempt\":3", "\"attempt\":-3"), HasSubstr("data.attempt: must be"));
  EXPECT_THAT(ErrorWith("\"attempt\":3", "\"attempt\":3.5"), HasSubstr("data.attempt: must be"));
  EXPECT_THAT(ErrorWith("\"value\":0.1", "\"value\":\"0.1\""), HasSubstr("data.value: must be"));
  EXPECT_THAT(ErrorWith("\"node\":\"n7\"", "\"node\":7"), HasSubstr("data.labels.node: must be"));
  EXPECT_THAT(ErrorWith("\"gpu\":\"3\"", "\"gpu\":3"),
              HasSubstr("data.evidence[0].labels.gpu: must be"));
  EXPECT_THAT(ErrorWith("\"zeta\":10", "\"zeta\":[]"), HasSubstr("data.parameters.zeta"));
  EXPECT_THAT(ErrorWith("2026-11-21T13:58:20", "2026-11-21 13.58"),
              HasSubstr("data.active_since: must be an RFC 3339 time"));
  EXPECT_THAT(ErrorWith("\"id\":\"team a/job#1\"", "\"id\":\"\""),
              HasSubstr("data.job.id: is missing"));
  EXPECT_THAT(ErrorWith("\"data\"", "\"dada\""), HasSubstr("data: is missing"));
  EXPECT_THAT(ErrorWith("}}", "}"), HasSubstr("not JSON"));
  EXPECT_FALSE(DecodeCloudEvent("").ok());
  EXPECT_FALSE(DecodeCloudEvent("[]").ok());
  EXPECT_FALSE(DecodeCloudEvent(std::string(100'000, '[')).ok());
  EXPECT_FALSE(DecodeCloudEvent(std::string(kMaxEventBytes + 1, ' ')).ok());
}

TEST(CloudEvent, TruncatedEventIsRejected) {
  const std::string json = EncodeCloudEvent(Sample());
  for (size_t i = 0; i < json.size(); ++i) {
    ASSERT_FALSE(DecodeCloudEvent(std::string_view(json).substr(0, i)).ok()) << i;
  }
}

TEST(CloudEvent, UnknownKeysAreIgnored) {
  std::string json = EncodeCloudEvent(Sample());
  json.insert(1, R"("traceparent":"00","x":{"y":[1,2]},)");
  const StatusOr<IssueEvent> back = DecodeCloudEvent(json);
  ASSERT_TRUE(back.ok()) << back.status();
  ExpectSame(Sample(), *back);
}

TEST(CloudEvent, InvalidBytesBecomeReplacementCharacters) {
  codec::JsonWriter out;
  out.String("\xC0\x80|\xED\xA0\x80|\xF4\x90\x80\x80|\xE2\x82|\xF0\x9F\x98\x80\x01");
  EXPECT_EQ(out.Take(),
            "\"\uFFFD\uFFFD|\uFFFD\uFFFD\uFFFD|\uFFFD\uFFFD\uFFFD\uFFFD|\uFFFD\uFFFD|"
            "\xF0\x9F\x98\x80\\u0001\"");
}

TEST(ActionEvent, GoldenEventRoundTrips) {
  ActionEvent e;
  e.type = ActionEventType::kDone;
  e.issue = IssueId(Sample());
  e.issue_event = Sample().id;
  e.job = "j";
  e.job_name = "n";
  e.owner = "pod:u-1";
  e.attempt = 1;
  e.rule = "p/g/A";
  e.alert = "A";
  e.severity = "critical";
  e.mode = ActionMode::kLive;
  e.target = {"process", "", "", "pid", "train.py", "17@n1/99", ""};
  e.why = "policy p/*";
  e.evidence = {{"x", {}, 1}};
  e.effect = "exited";
  e.time = EventTime::FromNs(1);
  e.id = MakeActionId(e);
  const std::string json = EncodeCloudEvent(e);
  EXPECT_EQ(json, Cat(R"({"specversion":"1.0","id":")", e.id,
                      R"(","source":"/pitwall/jobs/j","type":"io.pitwall.action.done","subject":)"
                      R"("p/g/A","time":"1970-01-01T00:00:00.000000001Z","datacontenttype":)"
                      R"("application/json","data":{"job":{"id":"j","name":"n","owner":"pod:u-1"},)"
                      R"("attempt":1,"issue":")",
                      e.issue, R"(","issue_event":")", e.issue_event,
                      R"(","rule":"p/g/A","alert":"A","severity":"critical","action":"stop",)"
                      R"("mode":"live","target":{"platform":"process","kind":"pid","name":)"
                      R"("train.py","uid":"17@n1/99"},"why":"policy p/*","evidence":[{"name":"x",)"
                      R"("value":1}],"effect":"exited"}})"));
  const StatusOr<ActionEvent> back = DecodeActionEvent(json);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(EncodeCloudEvent(*back), json);
  EXPECT_EQ(back->target, e.target);
  EXPECT_FALSE(DecodeActionEvent(EncodeCloudEvent(Sample())).ok());
  EXPECT_FALSE(DecodeCloudEvent(json).ok());
}

TEST(ActionEvent, IntervalRoundTrips) {
  ActionEvent e;
  e.type = ActionEventType::kRequested;
  e.kind = ActionKind::kInterval;
  e.issue = "request-1";
  e.job = "j";
  e.rule = std::string(kIntervalRequestRule);
  e.interval = Duration::Nanos(100'000'000);
  e.id = MakeActionId(e);
  const StatusOr<ActionEvent> back = DecodeActionEvent(EncodeCloudEvent(e));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->kind, ActionKind::kInterval);
  EXPECT_EQ(back->interval.ns(), 100'000'000);
  std::string damaged = EncodeCloudEvent(e);
  damaged.replace(damaged.find("100ms"), 5, "soon!");
  EXPECT_FALSE(DecodeActionEvent(damaged).ok());
}

TEST(ActionEvent, ParameterRoundTrips) {
  ActionEvent e;
  e.type = ActionEventType::kDone;
  e.kind = ActionKind::kParameter;
  e.mode = ActionMode::kLive;
  e.issue = "request-1";
  e.job = "j";
  e.rule = std::string(kParameterRequestRule);
  e.parameter = {"p/g/A", "limit", 0.3, 5};
  e.id = MakeActionId(e);
  const std::string json = EncodeCloudEvent(e);
  EXPECT_THAT(json, HasSubstr(R"("action":"parameter")"));
  EXPECT_THAT(json,
              HasSubstr(R"("parameter":{"rule":"p/g/A","name":"limit","value":0.3,"before":5})"));
  StatusOr<ActionEvent> back = DecodeActionEvent(json);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->parameter, e.parameter);
  EXPECT_EQ(ChangeText(e.parameter), "limit of p/g/A: 5 -> 0.3");
  e.parameter = {"p/g/A", "limit", std::nullopt, std::nullopt};
  back = DecodeActionEvent(EncodeCloudEvent(e));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->parameter, e.parameter);
  EXPECT_EQ(ChangeText(e.parameter), "limit of p/g/A: -> the value of the rule files");
  std::string damaged = json;
  damaged.replace(damaged.find("0.3"), 3, R"("NaN")");
  EXPECT_FALSE(DecodeActionEvent(damaged).ok());
  damaged = json;
  damaged.replace(damaged.find(R"("limit")"), 7, R"("")");
  EXPECT_FALSE(DecodeActionEvent(damaged).ok());
}

TEST(IssueId, EqualsIdOfFirstEvent) {
  IssueEvent first = Sample();
  first.sequence = 1;
  first.id = MakeEventId(first);
  IssueEvent later = first;
  later.sequence = 7;
  later.id = MakeEventId(later);
  EXPECT_NE(first.id, later.id);
  EXPECT_EQ(IssueId(first), first.id);
  EXPECT_EQ(IssueId(later), first.id);
}

// Consumers use this key to match update and end events to the first event of the issue.
TEST(IssueId, AllEventsOfIssue_HaveSameIssueId) {
  IssueEvent first = Sample();
  first.type = EventType::kIssueFound;
  first.sequence = 1;
  first.id = MakeEventId(first);
  const std::string field = Cat("\"issue\":\"", first.id, "\"");
  EXPECT_THAT(EncodeCloudEvent(first), HasSubstr(field));
  for (const EventType type : {EventType::kIssueUpdated, EventType::kIssueResolved}) {
    IssueEvent later = first;
    later.type = type;
    later.sequence = 2;
    later.time += Duration::Nanos(1);
    later.id = MakeEventId(later);
    EXPECT_THAT(EncodeCloudEvent(later), HasSubstr(field));
    // The issue ID is derived from other fields, so events from versions without the key have the
    // same issue ID.
    EXPECT_EQ(IssueId(*DecodeCloudEvent(EncodeCloudEvent(later))), first.id);
  }
  for (const EventType type : {EventType::kRuleStatus, EventType::kJobChanged}) {
    first.type = type;
    EXPECT_THAT(EncodeCloudEvent(first), ::testing::Not(HasSubstr("\"issue\":")));
  }
}

}  // namespace
}  // namespace pitwall::cloudevents
