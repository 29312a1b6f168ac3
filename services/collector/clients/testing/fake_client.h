// Test client for the collector's socket.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "pitwall/client/v1/client.pb.h"

namespace pitwall::collector {

// A blocking client. A socket failure fails the test.
class TestClient {
 public:
  explicit TestClient(const std::string& path)
      : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    connected_ = connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~TestClient() { Close(); }
  TestClient(TestClient&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), connected_(other.connected_) {}

  bool connected() const { return connected_; }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  void SendBytes(std::string_view bytes) {
    ASSERT_EQ(send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // Sends until everything is sent or the collector closes the connection.
  void SendSome(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(n));
    }
  }
  static std::string Framed(std::string_view message) {
    std::string out;
    for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(message.size() >> (8 * i)));
    return out + std::string(message);
  }
  void Send(const client::v1::ClientMessage& message) {
    SendBytes(Framed(message.SerializeAsString()));
  }
  client::v1::Welcome ReadWelcome() {
    const client::v1::CollectorMessage message = Read();
    EXPECT_TRUE(message.has_welcome()) << message.refused().message();
    return message.welcome();
  }
  // Reads until the collector reports that all updates up to `sequence` are durable.
  void AwaitWritten(uint64_t sequence) {
    while (connected_ && Read().written().sequence() < sequence) {
    }
  }
  client::v1::CollectorMessage Read() {
    std::string head(4, '\0');
    connected_ &= ReadAll(&head);
    EXPECT_TRUE(connected_);
    if (!connected_) return {};
    return ReadBody(head);
  }
  // Blocks until the collector has closed the connection. Discards the collector's messages.
  bool AwaitClosed() {
    char byte;
    while (recv(fd_, &byte, 1, 0) > 0) continue;
    return true;
  }
  // Returns the refusal as "<reason>: <message>", or "" if the connection closes without one.
  std::string ReadRefused() {
    std::string head(4, '\0');
    while (ReadAll(&head)) {
      const client::v1::CollectorMessage& message = ReadBody(head);
      if (message.has_refused())
        return message.refused().reason() + ": " + message.refused().message();
    }
    return "";
  }

 private:
  bool ReadAll(std::string* out) {
    return recv(fd_, out->data(), out->size(), MSG_WAITALL) == static_cast<ssize_t>(out->size());
  }
  const client::v1::CollectorMessage& ReadBody(const std::string& head) {
    std::string body(
        static_cast<unsigned char>(head[0]) + 256u * static_cast<unsigned char>(head[1]), '\0');
    EXPECT_TRUE(ReadAll(&body));
    EXPECT_TRUE(last_.ParseFromString(body));
    return last_;
  }
  int fd_;
  bool connected_ = false;
  client::v1::CollectorMessage last_;
};

inline client::v1::ClientMessage HelloOf(int rank, int64_t start_ns,
                                         std::string_view job = "job-1") {
  client::v1::ClientMessage message;
  auto* hello = message.mutable_hello();
  hello->set_protocol(1);
  hello->set_job_id(std::string(job));
  hello->set_job_name("train");
  hello->set_rank(static_cast<uint32_t>(rank));
  hello->set_world_size(2);
  hello->set_boot_id("boot-" + std::to_string(rank));
  hello->set_start_unix_ns(start_ns);
  hello->set_pid(4711);
  return message;
}

inline client::v1::ClientMessage UpdateOf(uint64_t sequence, int64_t promise_ns) {
  client::v1::ClientMessage message;
  message.mutable_update()->set_sequence(sequence);
  message.mutable_update()->set_promise_unix_ns(promise_ns);
  return message;
}

inline void AddSpan(client::v1::ClientMessage* message, client::v1::SpanKind kind,
                    std::string_view name, int64_t start_ns, int64_t end_ns, int64_t step) {
  auto* span = message->mutable_update()->add_spans();
  span->set_kind(kind);
  span->set_name(std::string(name));
  span->set_start_unix_ns(start_ns);
  span->set_duration_ns(end_ns - start_ns);
  span->set_step_plus_one(static_cast<uint64_t>(step + 1));
  span->set_mode("train");
}

inline client::v1::ClientMessage GoodbyeOf(std::string_view reason) {
  client::v1::ClientMessage message;
  message.mutable_goodbye()->set_reason(std::string(reason));
  return message;
}

}  // namespace pitwall::collector
