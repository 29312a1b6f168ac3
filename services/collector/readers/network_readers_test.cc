// Tests the TCP, InfiniBand, and NFS readers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/text/strings.h"
#include "services/collector/readers/testing/readers.h"

namespace pitwall::collector {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

class NetworkReadersTest : public ReadersTest {
 protected:
  void Port(std::string_view device, int port, std::string_view file, std::string_view text) const {
    root_.Write(Cat("sys/class/infiniband/", device, "/ports/", port, "/", file), text);
  }
};

constexpr const char* kSent = "system_network_tcp_segments_sent_total";
constexpr const char* kAgain = "system_network_tcp_segments_retransmitted_total";

TEST_F(NetworkReadersTest, ReadsTcpSegments) {
  root_.Write("proc/net/snmp",
              "Ip: Forwarding DefaultTTL\nIp: 1 64\n"
              "Tcp: RtoAlgorithm MaxConn InSegs OutSegs RetransSegs InErrs\n"
              "Tcp: 1 -1 700 5000 40 0\nUdp: InDatagrams\nUdp: 5\n");
  auto reader = NewTcpReader(context_);
  EXPECT_THAT(Values(*reader), ElementsAre(Pair(kAgain, 40), Pair(kSent, 5000)));
  EXPECT_TRUE(changed_);
  EXPECT_THAT(Values(*reader), Contains(Pair(kSent, 5000)));
  EXPECT_FALSE(changed_);
  EXPECT_EQ(Errors(), 0u);
}

TEST_F(NetworkReadersTest, DamagedTcpFilesResultInMissingValues) {
  auto reader = NewTcpReader(context_);
  EXPECT_THAT(Values(*reader), IsEmpty());  // the file does not exist
  EXPECT_EQ(missing_, 0);
  EXPECT_EQ(Errors(), 1u);
  uint64_t errors = 1;
  for (std::string_view text :
       {"", "Tcp: OutSegs RetransSegs\n", "Tcp: OutSegs\nTcp: 5\n",
        "Tcp: OutSegs RetransSegs\nTcp: 5\n", "Tcp: OutSegs RetransSegs\nTcp: 5 x\n",
        "Tcp: OutSegs RetransSegs\nTcp: -5 4\n", "Udp: OutSegs RetransSegs\nUdp: 5 4\n"}) {
    root_.Write("proc/net/snmp", text);
    EXPECT_THAT(Values(*reader), IsEmpty()) << text;
    EXPECT_EQ(missing_, 0) << text;
    EXPECT_EQ(Errors(), ++errors) << text;
  }
  root_.Write("proc/net/snmp", "Tcp: OutSegs RetransSegs\nTcp: 5 4\n");
  EXPECT_EQ(Values(*reader).size(), 2u);
  EXPECT_TRUE(changed_);
  // The series still exist, but their values are missing.
  root_.Write("proc/net/snmp", "Tcp: OutSegs RetransSegs\nTcp: 5");
  EXPECT_THAT(Values(*reader), IsEmpty());
  EXPECT_EQ(missing_, 2);
  EXPECT_FALSE(changed_);
}

TEST_F(NetworkReadersTest, InContainer_ReadsHostFiles) {
  root_.Write("proc/net/snmp", "Tcp: OutSegs RetransSegs\nTcp: 1 1\n");
  root_.Write("proc/net/rpc/nfs", "rpc 1 1 1\n");
  root_.Write("proc/1/net/dev", "");
  root_.Write("proc/1/net/snmp", "Tcp: OutSegs RetransSegs\nTcp: 9 8\n");
  auto tcp = NewTcpReader(context_);
  EXPECT_THAT(Values(*tcp), Contains(Pair(kSent, 9)));
  auto nfs = NewNfsReader(context_);
  EXPECT_THAT(Values(*nfs),
              IsEmpty());  // the host has no NFS client, even if the container has one
}

TEST_F(NetworkReadersTest, ReadsNfsCalls) {
  auto reader = NewNfsReader(context_);
  EXPECT_THAT(Values(*reader), IsEmpty());
  EXPECT_FALSE(changed_);
  EXPECT_EQ(Errors(), 0u);  // a missing NFS client is not an error
  root_.Write("proc/net/rpc/nfs", "net 0 0 0 0\nrpc 1234 5 1300\nproc3 22 0 1 2\n");
  EXPECT_THAT(Values(*reader), ElementsAre(Pair("nfs_rpc_calls_total", 1234),
                                           Pair("nfs_rpc_retransmissions_total", 5)));
  EXPECT_TRUE(changed_);
  uint64_t errors = 0;
  for (std::string_view text : {"", "net 0 0 0 0\n", "rpc\n", "rpc 5\n", "rpc 5 -1 1\n"}) {
    root_.Write("proc/net/rpc/nfs", text);
    EXPECT_THAT(Values(*reader), IsEmpty()) << text;
    EXPECT_EQ(missing_, 2) << text;
    EXPECT_FALSE(changed_) << text;
    EXPECT_EQ(Errors(), ++errors) << text;
  }
}

TEST_F(NetworkReadersTest, ReadsInfinibandPorts) {
  auto reader = NewInfinibandReader(context_);
  EXPECT_THAT(Values(*reader), IsEmpty());
  EXPECT_EQ(Errors(), 0u);
  Port("mlx5_0", 1, "state", "4: ACTIVE\n");
  Port("mlx5_0", 1, "rate", "200 Gb/sec (2X HDR)\n");
  Port("mlx5_0", 1, "counters/port_rcv_data", "1000\n");
  Port("mlx5_0", 1, "counters/port_xmit_data", "18446744073709551615\n");
  Port("mlx5_0", 1, "counters/link_downed", "1\n");
  Port("mlx5_0", 1, "counters/symbol_error", "2\n");
  Port("mlx5_0", 1, "counters/port_rcv_errors", "3\n");
  Port("mlx5_0", 1, "counters/port_xmit_discards", "4\n");
  Port("mlx5_0", 1, "counters/link_error_recovery", "5\n");
  Port("mlx5_0", 1, "counters/port_xmit_wait", "6\n");
  Port("mlx5_0", 1, "hw_counters/out_of_sequence", "7\n");
  Port("rocep1", 2, "state", "1: DOWN\n");  // the driver of this adapter has fewer counters
  Port("rocep1", 2, "rate", "2.5 Gb/sec (1X SDR)\n");
  Port("rocep1", 2, "counters/port_rcv_data", "N/A (no PMA)\n");
  EXPECT_THAT(Values(*reader), IsEmpty());  // one second has not passed yet
  clock_.Advance(kNanosPerSecond);
  const auto values = Values(*reader);
  EXPECT_TRUE(changed_);
  EXPECT_EQ(values.size(), 13u);
  EXPECT_EQ(values.at("ib_port_state mlx5_0 1"), 4);
  EXPECT_EQ(values.at("ib_port_state rocep1 2"), 1);
  EXPECT_EQ(values.at("ib_port_rate_bytes_per_second mlx5_0 1"), 25e9);
  EXPECT_EQ(values.at("ib_port_rate_bytes_per_second rocep1 2"), 312.5e6);
  EXPECT_EQ(values.at("ib_port_io_bytes_total mlx5_0 receive 1"), 4000);
  EXPECT_EQ(values.at("ib_port_io_bytes_total mlx5_0 transmit 1"), 4 * 18446744073709551615.0);
  EXPECT_EQ(values.at("ib_port_link_downed_total mlx5_0 1"), 1);
  EXPECT_EQ(values.at("ib_port_errors_total mlx5_0 1 symbol"), 2);
  EXPECT_EQ(values.at("ib_port_errors_total mlx5_0 1 receive"), 3);
  EXPECT_EQ(values.at("ib_port_errors_total mlx5_0 1 transmit_discard"), 4);
  EXPECT_EQ(values.at("ib_port_errors_total mlx5_0 1 link_recovery"), 5);
  EXPECT_EQ(values.at("ib_port_errors_total mlx5_0 1 out_of_sequence"), 7);
  EXPECT_EQ(values.at("ib_port_transmit_wait_total mlx5_0 1"), 6);
  EXPECT_EQ(Errors(), 0u);

  // Within the same second, the reader repeats its last values.
  Port("mlx5_0", 1, "state", "2: INIT\n");
  clock_.Advance(kNanosPerSecond - 1);
  EXPECT_EQ(Values(*reader).at("ib_port_state mlx5_0 1"), 4);
  clock_.Advance(1);
  EXPECT_EQ(Values(*reader).at("ib_port_state mlx5_0 1"), 2);
  EXPECT_FALSE(changed_);
}

TEST_F(NetworkReadersTest, DamagedInfinibandFilesResultInMissingValues) {
  Port("mlx5_0", 1, "state", "4: ACTIVE\n");
  Port("mlx5_0", 1, "rate", "200 Gb/sec\n");
  auto reader = NewInfinibandReader(context_);
  EXPECT_EQ(Values(*reader).size(), 2u);
  uint64_t errors = 0;
  for (std::string_view text : {"", "\n", "ACTIVE\n", "\n4\n", "-1\n", "nan\n", "4x: ACTIVE\n"}) {
    Port("mlx5_0", 1, "state", text);
    clock_.Advance(kNanosPerSecond);
    EXPECT_THAT(Values(*reader), Not(Contains(Key("ib_port_state mlx5_0 1")))) << text;
    EXPECT_EQ(missing_, 1) << text;
    EXPECT_FALSE(changed_) << text;
    EXPECT_EQ(Errors(), ++errors) << text;
  }
  // Entries that are not ports or adapters are ignored.
  root_.Write("sys/class/infiniband/README", "x");
  root_.Write("sys/class/infiniband/mlx5_1/ports/README", "x");
  Port("mlx5_0", 1, "state", "4: ACTIVE\n");
  clock_.Advance(kNanosPerSecond);
  EXPECT_EQ(Values(*reader).size(), 2u);
  // The adapter is removed.
  std::filesystem::remove_all(root_.At("sys/class/infiniband"));
  clock_.Advance(kNanosPerSecond);
  EXPECT_THAT(Values(*reader), IsEmpty());
  EXPECT_TRUE(changed_);
  EXPECT_EQ(missing_, 0);
}

class PfcReaderTest : public NetworkReadersTest {
 protected:
  void Adapter(std::string_view adapter, std::string_view device) const {
    root_.Write(Cat("sys/class/infiniband/", adapter, "/device/net/", device, "/mtu"), "9000\n");
  }
  static std::string Name(std::string_view device, std::string_view direction, int priority) {
    return Cat("system_network_pfc_pauses_total ", device, " ", direction, " ", priority);
  }
};

TEST_F(PfcReaderTest, RecognizesCounterNamesOfEachDriver) {
  auto reader = NewPfcReader(context_);
  EXPECT_THAT(Values(*reader), IsEmpty());
  EXPECT_FALSE(changed_);
  Adapter("mlx5_0", "eth2");
  Adapter("mlx5_1", "eth3");
  Adapter("bnxt_re0", "eth4");
  Adapter("irdma0", "eth5");
  Adapter("irdma1", "eth6");
  root_.Write("sys/class/infiniband/mlx5_2/device/vendor",
              "0x15b3\n");  // this InfiniBand adapter has no network device
  const uint64_t most = UINT64_MAX;
  drivers_.devices = {
      {"eth1", {{{"rx_prio3_pause", 9}}}},  // this device is not behind an adapter
      {"eth2",
       {{{"rx_packets", 1},
         {"rx_prio0_pause", 10},
         {"tx_prio0_pause", 11},
         {"rx_prio7_pause", 17},
         {"tx_prio7_pause", most},
         {"rx_prio3_pause_duration", 99},
         {"rx_prio8_pause", 99},
         {"rx_prio_pause", 99},
         {"prio3_pause", 99}}}},
      {"eth3", {{{"rx_packets", 1}, {"rx_pause_ctrl_phy", 5}}}},  // no priority flow control
      {"eth4", {{{"rx_pfc_ena_frames_pri3", 3}, {"tx_pfc_ena_frames_pri3", 4}}}},
      {"eth5", {{{"rx_priority_2_xoff.nic", 5}, {"rx_priority_2_xon.nic", 99}}}},
      {"eth6", {{{"port.tx_priority_1_xoff", 6}}}},
  };
  EXPECT_THAT(Values(*reader), IsEmpty());  // ten seconds have not passed yet
  clock_.Advance(10 * kNanosPerSecond);
  EXPECT_THAT(Values(*reader),
              ::testing::UnorderedElementsAre(
                  Pair(Name("eth2", "receive", 0), 10), Pair(Name("eth2", "transmit", 0), 11),
                  Pair(Name("eth2", "receive", 7), 17),
                  Pair(Name("eth2", "transmit", 7), static_cast<double>(most)),
                  Pair(Name("eth4", "receive", 3), 3), Pair(Name("eth4", "transmit", 3), 4),
                  Pair(Name("eth5", "receive", 2), 5), Pair(Name("eth6", "transmit", 1), 6)));
  EXPECT_TRUE(changed_);
  EXPECT_EQ(Errors(), 0u);
  const int reads = drivers_.reads;
  EXPECT_EQ(Values(*reader).size(), 8u);  // the values are unchanged
  EXPECT_FALSE(changed_);
  EXPECT_EQ(drivers_.reads, reads);
}

TEST_F(PfcReaderTest, FailedDriverKeepsSeriesButRemovedDeviceDropsThem) {
  Adapter("mlx5_0", "eth2");
  drivers_.devices = {{"eth2", Internal("firmware")}};
  auto reader = NewPfcReader(context_);
  EXPECT_THAT(Values(*reader), IsEmpty());
  EXPECT_EQ(Errors(), 1u);
  drivers_.devices = {{"eth2", {{{"rx_prio3_pause", 1}}}}};
  clock_.Advance(10 * kNanosPerSecond);
  EXPECT_EQ(Values(*reader).size(), 1u);
  drivers_.devices = {{"eth2", Internal("firmware")}};
  clock_.Advance(10 * kNanosPerSecond);
  EXPECT_THAT(Values(*reader), IsEmpty());
  EXPECT_EQ(missing_, 16);  // the series still exist
  EXPECT_FALSE(changed_);
  EXPECT_EQ(Errors(), 2u);
  drivers_.devices.clear();
  clock_.Advance(10 * kNanosPerSecond);
  EXPECT_THAT(Values(*reader), IsEmpty());
  EXPECT_EQ(missing_, 0);
  EXPECT_TRUE(changed_);
  EXPECT_EQ(Errors(), 2u);
}

// The machine's counters are unknown, so only the status is checked.
TEST(EthtoolCountersTest, ReadsCountersFromKernel) {
  const EthtoolCounters ethtool;
  for (const char* device : {"", "no-such-dev", "a-name-that-is-longer-than-16"}) {
    EXPECT_TRUE(absl::IsUnimplemented(ethtool.Read(device).status())) << device;
  }
  const auto loopback = ethtool.Read("lo");  // has no counters in some kernels
  EXPECT_TRUE(loopback.ok() || absl::IsUnimplemented(loopback.status())) << loopback.status();
}

}  // namespace
}  // namespace pitwall::collector
