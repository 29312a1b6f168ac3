// Tests for stopping jobs over HTTP, with scripted replies. tests/kube uses a real API server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <deque>
#include <fstream>

#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/executor/targets/kubernetes_target.h"
#include "services/executor/targets/webhook_target.h"
#include "tests/fakes/fake_clock.h"

namespace pitwall::executor {
namespace {

using ::testing::HasSubstr;
using ::testing::Pair;

class ScriptedTransport final : public HttpTransport {
 public:
  StatusOr<HttpReply> Perform(const HttpCall& call) override {
    calls.push_back(call);
    if (answers.empty()) return Unavailable("connection refused");
    StatusOr<HttpReply> answer = answers.front();
    if (answers.size() > 1) answers.pop_front();
    return answer;
  }
  Status CheckUrl(std::string_view) const override { return OkStatus(); }
  void Answer(int status, std::string body) {
    HttpReply reply;
    reply.status = status;
    reply.body = std::move(body);
    answers.push_back(reply);
  }

  std::vector<HttpCall> calls;
  std::deque<StatusOr<HttpReply>> answers;
};

constexpr CallLimits kNoPause = {.pause_ns = 0};

ActionEvent Stop(std::string kind = "Job") {
  ActionEvent stop;
  stop.id = "d1";
  stop.issue = "i1";
  stop.job = "ml-train";
  stop.owner = "uid:1000";
  stop.rule = "pack/numbers/NonFinite";
  stop.mode = ActionMode::kLive;
  stop.evidence = {{"train_loss", {}, 7}};
  stop.target = {.platform = "kubernetes", .namespace_name = "ml", .name = "train"};
  stop.target.kind = std::move(kind);
  stop.target.uid = "u-1";
  return stop;
}

std::string JobText(std::string_view uid, std::string_view spec, std::string_view status,
                    std::string_view owner = "uid:1000", std::string_view labels = "") {
  return Cat(R"({"metadata":{"uid":")", uid, R"(","annotations":{"pitwall.io/owner":")", owner,
             R"("},"labels":{)", labels, R"(}},"spec":{)", spec, R"(},"status":{)", status, "}}");
}

class KubernetesTargetTest : public ::testing::Test {
 protected:
  KubernetesTargetTest() : token_(Cat(::testing::TempDir(), "/token-", getpid())) { Token("t1"); }
  ~KubernetesTargetTest() override { unlink(token_.c_str()); }
  void Token(std::string_view text) { std::ofstream(token_) << text << "\n"; }
  KubernetesTarget Target(bool del = false, bool pods = false) {
    return {&clock_,
            &http_,
            {.server = "https://api:6443",
             .token_file = token_,
             .cluster = "c1",
             .delete_objects = del,
             .list_pods = pods,
             .limits = kNoPause}};
  }

  const std::string token_;
  fakes::FakeClock clock_;
  ScriptedTransport http_;
};

TEST_F(KubernetesTargetTest, ClaimsOnlyItsCluster) {
  KubernetesTarget target = Target();
  JobReference r = Stop().target;
  EXPECT_EQ(target.Claims(r), StopTarget::Claim::kMine);
  r.cluster = "c1";
  EXPECT_EQ(target.Claims(r), StopTarget::Claim::kMine);
  r.cluster = "c2";
  EXPECT_EQ(target.Claims(r), StopTarget::Claim::kElsewhere);
  r.platform = "slurm";
  EXPECT_EQ(target.Claims(r), StopTarget::Claim::kNo);
}

TEST_F(KubernetesTargetTest, SuspendsObjectWithMatchingUid) {
  KubernetesTarget target = Target();
  http_.Answer(200, JobText("u-1", R"("suspend":false)", R"("active":2)"));
  const StopCheck check = target.Check(Stop());
  EXPECT_EQ(check.refusal, "");
  EXPECT_EQ(
      check.found,
      "Job ml/train (uid u-1) is not suspended and belongs to uid:1000, the owner of the job");
  ASSERT_EQ(http_.calls.size(), 2U);
  EXPECT_EQ(http_.calls[0].url, "https://api:6443/apis/batch/v1/namespaces/ml/jobs/train");
  EXPECT_EQ(http_.calls[1].url,
            "https://api:6443/apis/batch/v1/namespaces/ml/jobs/train?dryRun=All");
  const auto done = target.Stop(Stop());
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(*done, "Job ml/train suspended");
  const HttpCall& call = http_.calls.back();
  EXPECT_EQ(call.method, "PATCH");
  EXPECT_EQ(call.body, R"({"spec":{"suspend":true},"metadata":{"uid":"u-1"}})");
  EXPECT_THAT(call.headers, ::testing::Contains(Pair("authorization", "Bearer t1")));
  EXPECT_THAT(call.headers,
              ::testing::Contains(Pair("content-type", "application/merge-patch+json")));
  Token("t2");  // the kubelet has rotated the token
  (void)target.Stop(Stop());
  EXPECT_THAT(http_.calls.back().headers, ::testing::Contains(Pair("authorization", "Bearer t2")));
}

TEST_F(KubernetesTargetTest, SuspendsPyTorchJobAndDeletesIfConfigured) {
  http_.Answer(200, JobText("u-1", "", ""));
  ASSERT_TRUE(Target().Stop(Stop("PyTorchJob")).ok());
  EXPECT_EQ(http_.calls.back().url,
            "https://api:6443/apis/kubeflow.org/v1/namespaces/ml/pytorchjobs/train");
  EXPECT_EQ(http_.calls.back().body,
            R"({"spec":{"runPolicy":{"suspend":true}},"metadata":{"uid":"u-1"}})");
  ASSERT_TRUE(Target(true).Stop(Stop()).ok());
  EXPECT_EQ(http_.calls.back().method, "DELETE");
  EXPECT_THAT(http_.calls.back().body, HasSubstr(R"("preconditions":{"uid":"u-1"})"));
}

// If the request has a body, the server ignores query options. A dry run requested through a query
// option would then delete the object.
TEST_F(KubernetesTargetTest, DeletionSendsDryRunInBody) {
  http_.Answer(200, JobText("u-1", "", ""));
  KubernetesTarget target = Target(true);
  EXPECT_EQ(target.Check(Stop()).refusal, "");
  ASSERT_EQ(http_.calls.size(), 2U);
  EXPECT_EQ(http_.calls[1].method, "DELETE");
  EXPECT_THAT(http_.calls[1].body, HasSubstr(R"("dryRun":["All"])"));
  ASSERT_TRUE(target.Stop(Stop()).ok());
  EXPECT_THAT(http_.calls[2].body, ::testing::Not(HasSubstr("dryRun")));
}

TEST_F(KubernetesTargetTest, RefusesObjectOfAnotherJob) {
  const auto refusal = [&](int status, const std::string& body, ActionEvent stop = Stop(),
                           bool del = false) {
    http_ = ScriptedTransport();
    http_.Answer(status, body);
    KubernetesTarget target = Target(del);
    return target.Check(stop).refusal;
  };
  EXPECT_THAT(refusal(200, JobText("u-2", "", "")),
              HasSubstr("was replaced by another object: its uid is u-2, but the job's is u-1"));
  EXPECT_THAT(refusal(404, "{}"), HasSubstr("Job ml/train not found"));
  EXPECT_THAT(
      refusal(403, R"({"message":"jobs is forbidden"})"),
      HasSubstr("response 403 to get Job ml/train: jobs is forbidden; grant permission to get it"));
  EXPECT_THAT(refusal(200, JobText("u-1", "", "", "uid:1001")),
              HasSubstr("belongs to uid:1001; the job belongs to uid:1000"));
  EXPECT_THAT(refusal(200, JobText("u-1", "", "", "")), HasSubstr("has no owner annotation"));
  EXPECT_THAT(
      refusal(200, JobText("u-1", "", R"("conditions":[{"type":"Complete","status":"True"}])")),
      HasSubstr("has finished: condition Complete is true"));
  const std::string queued =
      JobText("u-1", "", "", "uid:1000", R"("kueue.x-k8s.io/queue-name":"q")");
  EXPECT_THAT(refusal(200, queued), HasSubstr("in queue \"q\" of Kueue"));
  EXPECT_EQ(refusal(200, queued, Stop(), true), "");
  EXPECT_THAT(refusal(200, "[1"), HasSubstr("response to get Job ml/train"));
  for (const auto& change : std::vector<std::pair<std::string, std::string JobReference::*>>{
           {"../../secrets", &JobReference::name},
           {"a/b", &JobReference::namespace_name},
           {"", &JobReference::uid},
           {"Pod", &JobReference::kind}}) {
    ActionEvent stop = Stop();
    stop.target.*change.second = change.first;
    EXPECT_NE(refusal(200, JobText("u-1", "", ""), stop), "") << change.first;
    EXPECT_TRUE(http_.calls.empty());
  }
  ActionEvent unowned = Stop();
  unowned.owner.clear();
  EXPECT_THAT(refusal(200, JobText("u-1", "", "", ""), unowned),
              HasSubstr("the job's owner is unknown"));
}

TEST_F(KubernetesTargetTest, MissingPermissionIsReportedBeforeDecision) {
  http_.Answer(200, JobText("u-1", "", ""));
  http_.Answer(403, R"({"message":"cannot patch resource jobs"})");
  KubernetesTarget target = Target();
  EXPECT_THAT(
      target.Check(Stop()).refusal,
      HasSubstr(
          "response 403 to patch Job ml/train: cannot patch resource jobs; grant permission to "
          "patch it"));
}

TEST_F(KubernetesTargetTest, PodOfOwner_ProvesOwnership) {
  ActionEvent stop = Stop();
  stop.owner = "pod:p-1";
  const auto pods = [](std::string_view job) {
    return Cat(R"({"metadata":{"continue":""},"items":[{"metadata":{"uid":"p-0"}},{"metadata":)",
               R"({"uid":"p-1","ownerReferences":[{"uid":")", job, R"("}]}}]})");
  };
  http_.Answer(200, JobText("u-1", "", "", ""));
  http_.Answer(200, pods("u-1"));
  KubernetesTarget target = Target(false, true);
  EXPECT_EQ(target.Check(stop).refusal, "");
  EXPECT_THAT(http_.calls[1].url, HasSubstr("labelSelector=batch.kubernetes.io%2Fcontroller-uid"));
  http_ = ScriptedTransport();
  http_.Answer(200, JobText("u-1", "", "", ""));
  http_.Answer(200, pods("u-2"));
  const StopCheck other = target.Check(stop);
  EXPECT_THAT(other.refusal, HasSubstr("does not own pod:p-1"));
  EXPECT_TRUE(other.other_owner);
}

TEST_F(KubernetesTargetTest, LimitsRetries) {
  KubernetesTarget target = Target();
  http_.Answer(503, "busy");
  const auto failed = target.Stop(Stop());
  EXPECT_EQ(failed.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(ToStd(failed.status().message()), HasSubstr("after 4 attempts: response 503: busy"));
  EXPECT_EQ(http_.calls.size(), 4U);
  http_ = ScriptedTransport();
  http_.answers.push_back(Unavailable("reset"));
  http_.Answer(401, "");
  http_.Answer(200, "{}");
  EXPECT_TRUE(target.Stop(Stop()).ok());
  EXPECT_EQ(http_.calls.size(), 3U);
  target.Cancel();
  EXPECT_EQ(target.Stop(Stop()).status().code(), absl::StatusCode::kCancelled);
}

TEST_F(KubernetesTargetTest, ReportsEffect) {
  const auto effect = [&](int status, const std::string& body, const std::string& kind = "Job") {
    http_ = ScriptedTransport();
    http_.Answer(status, body);
    KubernetesTarget target = Target();
    const auto seen = target.Effect(Stop(kind));
    return seen.ok() ? Cat(seen->stopped ? "stopped: " : "", seen->text)
                     : std::string(ToStd(seen.status().message()));
  };
  EXPECT_EQ(effect(200, JobText("u-1", R"("suspend":true)", R"("active":2)")),
            "Job ml/train still has 2 active pods");
  EXPECT_EQ(effect(200, JobText("u-1", R"("suspend":true)", R"("active":0,"terminating":1)")),
            "Job ml/train still has 1 active pods");
  EXPECT_EQ(effect(200, JobText("u-1", R"("suspend":true)", "")), "stopped: no pod is active");
  EXPECT_EQ(effect(200,
                   JobText("u-1", R"("runPolicy":{"suspend":true})",
                           R"("replicaStatuses":{"Worker":{"active":3}})"),
                   "PyTorchJob"),
            "PyTorchJob ml/train still has 3 active pods");
  EXPECT_EQ(effect(200, JobText("u-1", "", "")), "Job ml/train is not suspended");
  EXPECT_EQ(effect(404, "{}"), "stopped: the object is gone");
  EXPECT_EQ(effect(200, JobText("u-2", "", "")),
            "stopped: the object is gone, and another object has its name");
  EXPECT_THAT(effect(403, "{}"), HasSubstr("grant permission to get it"));
}

class OneSignature final : public WebhookSigner {
 public:
  std::string Sign(std::string_view id, int64_t, std::string_view) const override {
    return Cat("v1,of-", id);
  }
};

TEST(WebhookTarget, SendsOneRequestAndAcceptsReply) {
  fakes::FakeClock clock;
  ScriptedTransport http;
  WebhookTarget target(&clock, &http,
                       {.url = "https://stop.example/",
                        .signer = std::make_shared<OneSignature>(),
                        .limits = kNoPause});
  ActionEvent stop = Stop();
  EXPECT_EQ(target.Claims(stop.target), StopTarget::Claim::kMine);
  EXPECT_EQ(target.Claims({.platform = "process"}), StopTarget::Claim::kNo);
  EXPECT_EQ(target.Check(stop).refusal, "");
  http.Answer(503, "");
  http.Answer(200, R"({"result":"done","reason":"drained"})");
  const auto done = target.Stop(stop);
  ASSERT_TRUE(done.ok()) << done.status();
  ASSERT_EQ(http.calls.size(), 2U);
  for (const HttpCall& call : http.calls) {
    EXPECT_THAT(call.headers, ::testing::Contains(Pair("webhook-id", "d1")));
    EXPECT_THAT(call.headers, ::testing::Contains(Pair("webhook-signature", "v1,of-d1")));
    const auto sent = cloudevents::DecodeActionEvent(call.body);
    ASSERT_TRUE(sent.ok()) << sent.status();
    EXPECT_EQ(sent->rule, stop.rule);
    EXPECT_EQ(sent->evidence, stop.evidence);
    EXPECT_EQ(sent->target, stop.target);
    EXPECT_EQ(sent->owner, "uid:1000");
  }
  const auto effect = target.Effect(stop);
  ASSERT_TRUE(effect.ok());
  EXPECT_TRUE(effect->stopped);
  EXPECT_EQ(effect->text, "it replied done: drained");
  stop.id = "unknown";
  EXPECT_FALSE(target.Effect(stop).ok());
}

TEST(WebhookTarget, UnexpectedReplyIsFailure) {
  fakes::FakeClock clock;
  const auto answer = [&](int status, const std::string& body) {
    ScriptedTransport http;
    http.Answer(status, body);
    WebhookTarget target(&clock, &http, {.url = "https://stop.example/", .limits = kNoPause});
    const auto done = target.Stop(Stop());
    EXPECT_FALSE(target.Effect(Stop()).ok());
    return done.ok() ? std::string("done") : std::string(ToStd(done.status().message()));
  };
  EXPECT_EQ(answer(200, R"({"result":"refused","reason":"not yours"})"),
            "the webhook refused: not yours");
  EXPECT_THAT(answer(200, ""), HasSubstr("without {\"result\""));
  EXPECT_THAT(answer(200, R"({"result":7})"), HasSubstr("without {\"result\""));
  EXPECT_THAT(answer(302, ""), HasSubstr("responded with 302"));
  EXPECT_THAT(answer(500, "x"), HasSubstr("after 4 attempts"));
  WebhookTarget target(&clock, nullptr, {.url = "https://stop.example/"});
  ActionEvent unowned = Stop();
  unowned.owner.clear();
  EXPECT_TRUE(target.Check(unowned).other_owner);
}

}  // namespace
}  // namespace pitwall::executor
