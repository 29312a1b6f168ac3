#include "services/collector/clients/socket/listening_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>

#include "services/collector/files/testing/temporary_root.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/no_descriptors.h"

namespace pitwall::collector {
namespace {

constexpr uint64_t kId = 7;

class ListeningSocketTest : public ::testing::Test {
 protected:
  ListeningSocketTest() { EXPECT_TRUE(ready_.Open().ok()); }

  // Returns the descriptor of a new client.
  int Connect() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    return fd;
  }
  // Returns the number of ready descriptors.
  int Ready() {
    std::array<epoll_event, 4> events;
    return ready_.Wait(events, 0);
  }

  TestRoot root_;
  const std::string path_ = root_.At("socket");
  fakes::FakeClock clock_;
  ReadinessSet ready_;
  ListeningSocket socket_{{path_}, clock_, &ready_, kId};
};

TEST_F(ListeningSocketTest, Client_MakesSocketReady) {
  ASSERT_TRUE(socket_.Open().ok());
  socket_.Listen();
  EXPECT_EQ(Ready(), 0);
  EXPECT_EQ(socket_.Accept(), -1);
  const int client = Connect();
  EXPECT_EQ(Ready(), 1);
  const int accepted = socket_.Accept();
  EXPECT_GE(accepted, 0);
  ::close(accepted);
  ::close(client);
}

TEST_F(ListeningSocketTest, Close_RemovesFileAndAllowsReopening) {
  ASSERT_TRUE(socket_.Open().ok());
  ListeningSocket second({path_}, clock_, &ready_, kId);
  EXPECT_EQ(second.Open().code(), absl::StatusCode::kFailedPrecondition);
  socket_.Close();
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_TRUE(second.Open().ok());
}

TEST_F(ListeningSocketTest, NoDescriptors_PausesForOneSecond) {
  ASSERT_TRUE(socket_.Open().ok());
  socket_.Listen();
  const int client = Connect();
  {
    const fakes::NoDescriptors none;
    EXPECT_EQ(socket_.Accept(), -1);
  }
  EXPECT_EQ(Ready(), 0);
  clock_.Advance(kNanosPerSecond - 1);
  socket_.ListenAfterPause();
  EXPECT_EQ(Ready(), 0);
  clock_.Advance(1);
  socket_.ListenAfterPause();
  EXPECT_EQ(Ready(), 1);
  ::close(client);
}

}  // namespace
}  // namespace pitwall::collector
