// Tests for the listener when accept fails because no file descriptor is available (issue 26, F3).
#include "services/adapters/grpc/connection_listener.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>

#include "services/base/text/strings.h"
#include "tests/fakes/no_descriptors.h"

namespace pitwall::grpc_adapter {
namespace {

// Counts connections and closes them.
struct Accepted {
  std::mutex mutex;
  std::condition_variable changed;
  int count = 0;

  void Await(int wanted) {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return count >= wanted; });
  }
};

class CountingAcceptor final : public ConnectionListener::Acceptor {
 public:
  explicit CountingAcceptor(Accepted* accepted) : accepted_(*accepted) {}
  void HandleNewConnection(NewConnectionParameters* connection) override {
    close(connection->fd);
    const std::lock_guard<std::mutex> lock(accepted_.mutex);
    ++accepted_.count;
    accepted_.changed.notify_all();
  }

 private:
  Accepted& accepted_;
};

class ConnectionListenerTest : public ::testing::Test {
 protected:
  ConnectionListenerTest() {
    auto listener = ConnectionListener::Open("127.0.0.1:0");
    EXPECT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
    listener_->Start(std::make_unique<CountingAcceptor>(&accepted_));
  }
  void Connect(int fd) const {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(listener_->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }

  Accepted accepted_;
  std::unique_ptr<ConnectionListener> listener_;
};

TEST_F(ConnectionListenerTest, DescriptorsRunOut_AcceptsAfterRecovery) {
  const int before = socket(AF_INET, SOCK_STREAM, 0);
  const int refused = socket(AF_INET, SOCK_STREAM, 0);
  const int after = socket(AF_INET, SOCK_STREAM, 0);
  Connect(before);
  accepted_.Await(1);
  {
    const fakes::NoDescriptors none;
    Connect(refused);
    char byte = 0;
    EXPECT_LE(recv(refused, &byte, 1, 0), 0);  // closed immediately, using the spare descriptor
  }
  Connect(after);
  accepted_.Await(2);
  for (const int fd : {before, refused, after}) close(fd);
}

TEST_F(ConnectionListenerTest, PortInUse_IsUnavailable) {
  const std::string listen = Cat("127.0.0.1:", listener_->port());
  const Status second = ConnectionListener::Open(listen).status();
  EXPECT_TRUE(absl::IsUnavailable(second)) << second;
  listener_->Stop();
  EXPECT_TRUE(ConnectionListener::Open(listen).ok());
}

TEST_F(ConnectionListenerTest, StartWithoutDescriptors_ReturnsError) {
  const fakes::NoDescriptors none;
  EXPECT_TRUE(absl::IsResourceExhausted(ConnectionListener::Open("127.0.0.1:0").status()));
}

}  // namespace
}  // namespace pitwall::grpc_adapter
