#include "services/model/owner.h"

#include <gtest/gtest.h>

namespace pitwall {
namespace {

constexpr char kPodUid[] = "0f7c2b1e-9a3d-4f55-8e21-6d5c4b3a2f10";

TEST(Owner, OwnerOfProcessIsPodOrUser) {
  EXPECT_EQ(OwnerOf(1000, ""), "uid:1000");
  EXPECT_EQ(OwnerOf(0, "abc"), "pod:abc");
  EXPECT_EQ(OwnerOf(-1, ""), "");
  EXPECT_EQ(OwnerClass("uid:0"), "root");
  EXPECT_EQ(OwnerClass("uid:7"), "user");
  EXPECT_EQ(OwnerClass("pod:abc"), "pod");
  EXPECT_EQ(OwnerClass(""), "unknown");
}

TEST(Owner, EachOwnerHasOneCanonicalString) {
  for (const char* good : {"uid:0", "uid:1000", "uid:4294967294", "pod:0f7c-2b"})
    EXPECT_TRUE(CheckOwner(good).ok()) << good;
  for (const char* bad : {"", "1000", "uid:", "uid:-1", "uid:+1", "uid:007", "uid:4294967295",
                          "uid:99999999999", "uid:1 ", "pod:", "pod:a/b", "alice", "pod:a\n"})
    EXPECT_FALSE(CheckOwner(bad).ok()) << bad;
}

TEST(Owner, JobIdPrefixesAreReserved) {
  EXPECT_EQ(OwnerIdPrefix("uid:1000"), "u1000:");
  EXPECT_EQ(OwnerIdPrefix("pod:ab-c"), "pod-ab-c:");
  EXPECT_EQ(OwnerOfJobId("u1000:train:77000"), "uid:1000");
  EXPECT_EQ(OwnerOfJobId("pod-ab-c:train:77000"), "pod:ab-c");
  for (const char* free :
       {"u1000", "user:train", "u01:train", "node:x", "cluster-17", "a:u1000:b", ":"})
    EXPECT_EQ(OwnerOfJobId(free), "") << free;
}

TEST(Owner, OnlyKubeletCgroupsDeterminePod) {
  const std::string pod = kPodUid;
  const std::string systemd_pod = "0f7c2b1e_9a3d_4f55_8e21_6d5c4b3a2f10";
  EXPECT_EQ(PodOfCgroup("0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" +
                        systemd_pod + ".slice/cri-containerd-77.scope\n"),
            pod);
  EXPECT_EQ(PodOfCgroup("0::/kubepods/besteffort/pod" + pod + "/77\n"), pod);
  EXPECT_EQ(PodOfCgroup("0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" +
                        systemd_pod + ".slice/x.scope\n"),
            pod);
  EXPECT_EQ(PodOfCgroup("12:memory:/kubepods/pod" + pod + "/77\n0::/\n"), pod);
  EXPECT_EQ(PodOfCgroup("0::/../../kubepods-besteffort-pod" + systemd_pod + ".slice/y.scope\n"),
            pod);
  EXPECT_EQ(PodOfCgroup("0::/../../pod" + pod + "/77\n"), pod);
  // Any user may create a cgroup with this name.
  EXPECT_EQ(
      PodOfCgroup("0::/user.slice/user-1001.slice/user@1001.service/kubepods/pod" + pod + "\n"),
      "");
  EXPECT_EQ(PodOfCgroup("0::/user.slice/kubepods.slice/kubepods-pod" + systemd_pod + ".slice\n"),
            "");
  EXPECT_EQ(PodOfCgroup("0::/../../user.slice/kubepods/pod" + pod + "\n"), "");
  EXPECT_EQ(PodOfCgroup("0::/system.slice/pod" + pod + "\n"), "");
  // A nested cgroup inside a pod still belongs to the pod.
  EXPECT_EQ(PodOfCgroup("0::/kubepods/pod" + pod + "/77/pod11111111-2222-3333-4444-555555555555\n"),
            pod);
  for (const char* none :
       {"", "\n", "0::/", "0::/kubepods/burstable/podx/1", "nonsense", "0::/kubepods"})
    EXPECT_EQ(PodOfCgroup(none), "") << none;
}

}  // namespace
}  // namespace pitwall
