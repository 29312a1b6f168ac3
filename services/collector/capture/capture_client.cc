#include "services/collector/capture/capture_client.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "pitwall/client/v1/client.pb.h"
#include "services/base/text/strings.h"

namespace pitwall::collector {
namespace {

namespace pb = ::pitwall::client::v1;

constexpr time_t kWaitSeconds = 5;
constexpr size_t kMaxAnswer = 64u << 10;

struct Socket {
  int fd = -1;
  ~Socket() {
    if (fd >= 0) close(fd);
  }
};

Status ReadWhole(int fd, char* out, size_t size) {
  while (size > 0) {
    const ssize_t n = recv(fd, out, size, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "read the collector's response");
    if (n == 0) return Unavailable("the collector closed the connection without a response");
    out += n;
    size -= static_cast<size_t>(n);
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::string> AskCollector(const std::string& path, const std::string& job,
                                   const std::vector<int64_t>& ranks, int64_t timeout_ns) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path))
    return InvalidArgument(Cat("socket ", path, ": the path is too long"));
  std::memcpy(address.sun_path, path.data(), path.size());
  const Socket socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (socket.fd < 0) return ErrnoStatus(errno, "socket");
  const timeval wait{kWaitSeconds, 0};
  setsockopt(socket.fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
  setsockopt(socket.fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
  if (connect(socket.fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    if (errno == ENOENT || errno == ECONNREFUSED)
      return NotFound(Cat("socket ", path, ": no collector is listening"));
    return ErrnoStatus(errno, Cat("socket ", path));
  }
  pb::ClientMessage message;
  message.mutable_ask_capture()->set_job(job);
  for (const int64_t rank : ranks)
    message.mutable_ask_capture()->add_ranks(static_cast<uint32_t>(rank));
  message.mutable_ask_capture()->set_timeout_ns(timeout_ns);
  const std::string body = message.SerializeAsString();
  std::string frame;
  for (int i = 0; i < 4; ++i) frame.push_back(static_cast<char>(body.size() >> (8 * i)));
  frame += body;
  if (send(socket.fd, frame.data(), frame.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(frame.size()))
    return ErrnoStatus(errno, Cat("socket ", path));
  unsigned char head[4];
  RETURN_IF_ERROR(ReadWhole(socket.fd, reinterpret_cast<char*>(head), sizeof(head)));
  const size_t size = head[0] + 256u * head[1] + 65536u * head[2] + 16777216u * head[3];
  if (size > kMaxAnswer)
    return Internal(
        Cat("the collector's response is ", size, " bytes long; the limit is ", kMaxAnswer));
  std::string answer(size, '\0');
  RETURN_IF_ERROR(ReadWhole(socket.fd, answer.data(), size));
  pb::CollectorMessage reply;
  if (!reply.ParseFromString(answer)) return Internal("the collector's response is malformed");
  if (reply.has_refused()) {
    const std::string why = Cat("the collector refused the request (", reply.refused().reason(),
                                "): ", reply.refused().message());
    return reply.refused().reason() == "other_owner" ? absl::PermissionDeniedError(why)
                                                     : FailedPrecondition(why);
  }
  if (!reply.has_asked())
    return FailedPrecondition("the collector does not support captures; upgrade it");
  if (reply.asked().id().empty()) return FailedPrecondition(reply.asked().error());
  return reply.asked().id();
}

}  // namespace pitwall::collector
