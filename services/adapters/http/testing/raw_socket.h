// Plain TCP socket for tests of misbehaving clients.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "services/base/check.h"

namespace pitwall::http {

class RawSocket {
 public:
  RawSocket() = default;
  explicit RawSocket(int fd) : fd_(fd) {}
  static RawSocket Connect(uint16_t port) {
    RawSocket out(socket(AF_INET, SOCK_STREAM, 0));
    timeval timeout{10, 0};  // a hanging test fails instead of blocking
    setsockopt(out.fd_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(out.fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) out.Close();
    return out;
  }
  RawSocket(RawSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  RawSocket& operator=(RawSocket&& other) noexcept {
    Close();
    fd_ = std::exchange(other.fd_, -1);
    return *this;
  }
  ~RawSocket() { Close(); }

  bool ok() const { return fd_ >= 0; }
  bool Send(std::string_view text) const {
    return send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  // Reads until the peer closes the connection or sends nothing for 10 s.
  std::string ReadAll() const {
    std::string out;
    char buffer[4096];
    for (ssize_t n; (n = recv(fd_, buffer, sizeof buffer, 0)) > 0;)
      out.append(buffer, static_cast<size_t>(n));
    return out;
  }
  // Reads until the data contains `end`.
  std::string ReadUntil(std::string_view end) const {
    std::string out;
    char c;
    while (out.find(end) == std::string::npos && recv(fd_, &c, 1, 0) == 1) out.push_back(c);
    return out;
  }
  // Returns true if the peer has closed or reset the connection.
  bool AtEnd() const {
    char c;
    const ssize_t n = recv(fd_, &c, 1, 0);
    return n == 0 || (n < 0 && errno == ECONNRESET);
  }
  // Waits until data is readable or `ms` milliseconds have passed.
  void WaitReadable(int ms) const {
    pollfd wanted{fd_, POLLIN, 0};
    poll(&wanted, 1, ms);
  }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

// Listening socket on loopback.
class RawListener {
 public:
  RawListener() : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    PITWALL_CHECK(bind(socket_.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    PITWALL_CHECK(listen(socket_.fd(), 16) == 0);
    socklen_t length = sizeof address;
    getsockname(socket_.fd(), reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
  }
  uint16_t port() const { return port_; }
  RawSocket Accept() const {
    RawSocket out(accept(socket_.fd(), nullptr, nullptr));
    timeval timeout{10, 0};
    setsockopt(out.fd(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    return out;
  }
  // Unblocks a waiting Accept.
  void Shutdown() const { shutdown(socket_.fd(), SHUT_RDWR); }

 private:
  RawSocket socket_;
  uint16_t port_ = 0;
};

}  // namespace pitwall::http
