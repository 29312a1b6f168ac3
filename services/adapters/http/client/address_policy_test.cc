#include "services/adapters/http/client/address_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pitwall::http {
namespace {

using ::testing::HasSubstr;

IpAddress Ip(std::string_view text) {
  const std::optional<IpAddress> address = IpAddress::Parse(text);
  EXPECT_TRUE(address) << text;
  return address.value_or(IpAddress());
}

TEST(AddressPolicy, RejectsNonPublicAddresses) {
  const AddressPolicy policy({});
  const std::pair<const char*, const char*> cases[] = {{"127.0.0.1", "loopback"},
                                                       {"127.255.0.9", "loopback"},
                                                       {"0.0.0.0", "unspecified"},
                                                       {"10.1.2.3", "private"},
                                                       {"172.16.0.1", "private"},
                                                       {"172.31.255.255", "private"},
                                                       {"192.168.1.1", "private"},
                                                       {"169.254.169.254", "link-local"},
                                                       {"100.64.0.1", "carrier NAT"},
                                                       {"100.127.255.255", "carrier NAT"},
                                                       {"224.0.0.1", "multicast"},
                                                       {"255.255.255.255", "reserved"},
                                                       {"198.18.0.1", "benchmarking"},
                                                       {"::", "unspecified"},
                                                       {"::1", "loopback"},
                                                       {"fe80::1", "link-local"},
                                                       {"fd00:ec2::254", "private"},
                                                       {"fc00::1", "private"},
                                                       {"ff02::1", "multicast"},
                                                       {"::ffff:10.0.0.1", "private"},
                                                       {"::ffff:127.0.0.1", "loopback"},
                                                       {"64:ff9b::a9fe:a9fe", "link-local"},
                                                       {"2002:7f00:1::", "loopback"},
                                                       {"::10.0.0.1", "private"},
                                                       {"2001:db8::1", "documentation"},
                                                       {"2001:0:1::1", "Teredo"}};
  for (const auto& [address, kind] : cases) {
    EXPECT_THAT(policy.Refusal(Ip(address), false), HasSubstr(kind)) << address;
  }
}

TEST(AddressPolicy, AllowsPublicAddresses) {
  const AddressPolicy policy({});
  for (const char* address : {"1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255",
                              "100.128.0.0", "172.15.255.255", "172.32.0.0", "169.253.1.1",
                              "193.0.0.1", "2606:4700::1", "64:ff9b::101:101", "2002:101:101::1"}) {
    EXPECT_EQ(policy.Refusal(Ip(address), false), "") << address;
  }
}

TEST(AddressPolicy, AllowsLoopbackOnlyOnRequest) {
  const AddressPolicy policy({});
  EXPECT_EQ(policy.Refusal(Ip("127.0.0.1"), true), "");
  EXPECT_EQ(policy.Refusal(Ip("::1"), true), "");
  EXPECT_NE(policy.Refusal(Ip("10.0.0.1"), true), "");
  EXPECT_NE(policy.Refusal(Ip("169.254.169.254"), true), "");
}

TEST(AddressPolicy, AllowListPermitsOnlyItsRanges) {
  const AddressPolicy policy({*Cidr::Parse("10.96.0.0/12"), *Cidr::Parse("fd00:1::/32")});
  EXPECT_EQ(policy.Refusal(Ip("10.96.0.1"), false), "");
  EXPECT_EQ(policy.Refusal(Ip("10.111.255.255"), false), "");
  EXPECT_NE(policy.Refusal(Ip("10.112.0.0"), false), "");
  EXPECT_NE(policy.Refusal(Ip("10.95.255.255"), false), "");
  EXPECT_EQ(policy.Refusal(Ip("fd00:1:2::3"), false), "");
  EXPECT_NE(policy.Refusal(Ip("fd00:2::3"), false), "");
  EXPECT_EQ(policy.Refusal(Ip("64:ff9b::a60:1"), false), "");  // 10.96.0.1 behind NAT64
}

TEST(Cidr, ParsesValidRangesOnly) {
  EXPECT_EQ(Cidr::Parse("10.0.0.0/8")->bits, 104);
  EXPECT_EQ(Cidr::Parse("192.0.2.7")->bits, 128);
  EXPECT_TRUE(Cidr::Parse("0.0.0.0/0")->Contains(Ip("200.1.2.3")));
  EXPECT_FALSE(Cidr::Parse("0.0.0.0/0")->Contains(Ip("2606::1")));
  EXPECT_TRUE(Cidr::Parse("::/0")->Contains(Ip("200.1.2.3")));
  for (const char* bad :
       {"", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0/8", "::/129", "host/8", "10.0.0.0/"}) {
    EXPECT_FALSE(Cidr::Parse(bad).ok()) << bad;
  }
  EXPECT_EQ(Ip("::ffff:1.2.3.4").ToString(), "1.2.3.4");
  EXPECT_EQ(Ip("fe80::1").ToString(), "fe80::1");
}

}  // namespace
}  // namespace pitwall::http
