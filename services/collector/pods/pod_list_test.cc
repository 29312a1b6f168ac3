#include "services/collector/pods/pod_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "services/base/text/strings.h"
#include "services/collector/pods/testing/pods.h"

namespace pitwall::collector {
namespace {

using ::testing::HasSubstr;

constexpr size_t kPlenty = 1u << 20;

StatusOr<std::vector<PodState>> Parse(std::string_view items) {
  return ParsePodList(PodListOf(items), kPlenty);
}

TEST(PodList, ParsesListFromServer) {
  const auto pods = Parse(PodText({.status = Terminated(137, "OOMKilled")}));
  ASSERT_TRUE(pods.ok()) << pods.status();
  ASSERT_EQ(pods->size(), 1u);
  const PodState& pod = (*pods)[0];
  EXPECT_EQ(pod.uid, kPodUid);
  EXPECT_EQ(pod.namespace_name, "research");
  ASSERT_EQ(pod.containers.size(), 1u);
  EXPECT_EQ(pod.containers[0].id, kContainer);
  ASSERT_TRUE(pod.containers[0].end.has_value());
  EXPECT_EQ(pod.containers[0].end->exit_code, 137);
  const PlatformEnd end = EndOf(pod, *pod.containers[0].end);
  EXPECT_TRUE(end.oom_killed);
  EXPECT_FALSE(end.on_purpose);
}

TEST(PodList, RunningContainerHasNoEnd) {
  const auto pods =
      Parse(PodText({.status = R"({"running":{"startedAt":"2026-11-24T10:00:00Z"}})"}));
  ASSERT_TRUE(pods.ok()) << pods.status();
  EXPECT_FALSE((*pods)[0].containers[0].end.has_value());
}

// The kubelet reports a restarting container with the ID of the instance that ended.
TEST(PodList, PreviousContainerHasSeparateId) {
  const std::string before(64, 'b');
  const auto again = Parse(PodText(
      {.status = R"({"running":{"startedAt":"2026-11-24T10:00:00Z"}})",
       .last = Cat(R"({"terminated":{"exitCode":3,"reason":"Error","finishedAt":)",
                   R"("2026-11-24T09:59:00Z","containerID":"containerd://)", before, R"("}})")}));
  ASSERT_TRUE(again.ok()) << again.status();
  ASSERT_EQ((*again)[0].containers.size(), 2u);
  EXPECT_EQ((*again)[0].containers[1].id, before);
  EXPECT_EQ((*again)[0].containers[1].end->exit_code, 3);
  const auto waits =
      Parse(PodText({.status = R"({"waiting":{"reason":"CrashLoopBackOff"}})",
                     .last = Cat(R"({"terminated":{"exitCode":3,"reason":"Error","finishedAt":)",
                                 R"("2026-11-24T09:59:00Z","containerID":"containerd://)",
                                 kContainer, R"("}})")}));
  ASSERT_EQ((*waits)[0].containers.size(), 1u);
  EXPECT_EQ((*waits)[0].containers[0].end->exit_code, 3);
}

TEST(PodList, DeletedPod_EndIsIntentional) {
  const auto end = [](PodParts parts) {
    const auto pods = Parse(PodText(std::move(parts)));
    EXPECT_TRUE(pods.ok()) << pods.status();
    return EndOf((*pods)[0], *(*pods)[0].containers[0].end);
  };
  const std::string killed = Terminated(143, "Error");  // the container ended at 10:00:30
  EXPECT_FALSE(end({.status = killed}).on_purpose);
  // The deletion was requested at 10:00:00 with a grace period of 30 s, so it precedes the end of
  // the container.
  const PlatformEnd deleted = end({.status = killed,
                                   .metadata = R"(,"deletionTimestamp":"2026-11-24T10:00:30Z",)"
                                               R"("deletionGracePeriodSeconds":30)"});
  EXPECT_TRUE(deleted.on_purpose);
  EXPECT_EQ(deleted.cause, "pod deleted");
  EXPECT_EQ(deleted.exit_code, 143);
  EXPECT_FALSE(end({.status = killed,
                    .metadata = R"(,"deletionTimestamp":"2026-11-24T10:01:05Z",)"
                                R"("deletionGracePeriodSeconds":30)"})
                   .on_purpose)
      << "the pod died before its controller deleted it";
  const PlatformEnd preempted =
      end({.status = killed,
           .pod = R"("conditions":[{"type":"Ready","status":"False"},{"type":"DisruptionTarget",)"
                  R"("status":"True","reason":"PreemptionByScheduler"}],)"});
  EXPECT_TRUE(preempted.on_purpose);
  EXPECT_EQ(preempted.cause, "PreemptionByScheduler");
  const PlatformEnd evicted =
      end({.status = killed, .pod = R"("reason":"Evicted","message":"low on memory",)"});
  EXPECT_FALSE(evicted.on_purpose) << "evicted because of a resource shortage";
  EXPECT_EQ(evicted.cause, "Evicted");
  EXPECT_TRUE(end({.status = killed, .pod = R"("reason":"DeadlineExceeded",)"}).on_purpose);
  EXPECT_EQ(end({.status = Terminated(0, "Completed")}),
            (PlatformEnd{.signal = {}, .exit_code = 0}));
}

TEST(PodList, OnlyStoppableControllerIsReferenced) {
  const auto object = [](std::string_view owners) {
    const auto pods =
        ParsePodList(PodListOf(Cat(R"({"metadata":{"uid":"u","namespace":"ml","ownerReferences":[)",
                                   owners, "]}}")),
                     1 << 20);
    if (!pods.ok()) return std::string(pods.status().message());
    const JobReference& found = pods->at(0).controller;
    return Cat(found.platform, "|", found.namespace_name, "|", found.kind, "|", found.name, "|",
               found.uid);
  };
  const auto owner = [](std::string_view version, std::string_view kind, bool controller) {
    return Cat(R"({"apiVersion":")", version, R"(","kind":")", kind,
               R"(","name":"llm","uid":"u7","controller":)", controller ? "true}" : "false}");
  };
  EXPECT_EQ(object(owner("batch/v1", "Job", true)), "kubernetes|ml|Job|llm|u7");
  EXPECT_EQ(object(owner("kubeflow.org/v1", "PyTorchJob", true)),
            "kubernetes|ml|PyTorchJob|llm|u7");
  EXPECT_EQ(object(Cat(owner("v1", "Node", false), ",", owner("batch/v1", "Job", true))),
            "kubernetes|ml|Job|llm|u7");
  EXPECT_EQ(object(owner("batch/v1", "Job", false)), "||||");
  EXPECT_EQ(object(owner("example.org/v1", "Job", true)), "||||") << "a custom kind";
  EXPECT_EQ(object(owner("apps/v1", "ReplicaSet", true)), "||||");
  EXPECT_EQ(object(""), "||||");
}

TEST(PodList, RejectsMalformedLists) {
  const std::pair<std::string, const char*> bad[] = {
      {"", ""},
      {"<html>", ""},
      {R"({"kind":"Status","code":403})", "kind: must be PodList"},
      {R"({"kind":"PodList","items":[7]})", "items"},
      {R"({"kind":"PodList","items":[{"metadata":{"uid":7}}]})", "uid"},
      {PodListOf(PodText({.status = R"({"terminated":{"exitCode":"x"}})"})), "exitCode"},
      {PodListOf(PodText({.status = R"({"terminated":{"exitCode":1,"finishedAt":"soon"}})"})),
       "finishedAt"},
      {std::string(kPlenty + 1, ' '), ""},
  };
  for (const auto& [text, why] : bad) {
    const auto pods = ParsePodList(text, kPlenty);
    ASSERT_FALSE(pods.ok()) << text.substr(0, 200);
    EXPECT_THAT(std::string(pods.status().message()), HasSubstr(why));
  }
  EXPECT_EQ(ParsePodList(R"({"kind":"PodList","items":[]})", kPlenty)->size(), 0u);
}

TEST(PodList, FindsContainerOfProcess) {
  const std::string id(64, 'a');
  const std::string pod = "pod0a1b2c3d-0000-4000-8000-0123456789ab";
  EXPECT_EQ(ContainerOfCgroup(Cat("0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-"
                                  "pod0a1b2c3d_0000_4000_8000_0123456789ab.slice/cri-containerd-",
                                  id, ".scope\n")),
            id);
  EXPECT_EQ(ContainerOfCgroup(Cat("12:pids:/user\n11:memory:/kubepods/", pod, "/", id, "\n")), id);
  EXPECT_EQ(ContainerOfCgroup(Cat("0::/kubepods/", pod, "/crio-", id, ".scope/inner\n")), id);
  EXPECT_EQ(ContainerOfCgroup(Cat("0::/user.slice/", id, ".scope\n")), "") << "not in a pod";
  EXPECT_EQ(ContainerOfCgroup(Cat("0::/kubepods/", pod, "/init\n")), "");
}

}  // namespace
}  // namespace pitwall::collector
