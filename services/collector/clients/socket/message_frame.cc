#include "services/collector/clients/socket/message_frame.h"

#include <sys/socket.h>

#include <string>

namespace pitwall::collector {

uint32_t LengthOf(std::string_view bytes) {
  uint32_t length = 0;
  for (int i = 0; i < 4; ++i)
    length |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[static_cast<size_t>(i)]))
              << (8 * i);
  return length;
}

bool SendFramed(int fd, std::string_view message) {
  std::string out;
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(message.size() >> (8 * i)));
  out += message;
  return send(fd, out.data(), out.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(out.size());
}

}  // namespace pitwall::collector
