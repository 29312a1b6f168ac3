// Message framing on the client socket: the length as 4 little-endian bytes, then the message.
#pragma once

#include <cstdint>
#include <string_view>

namespace pitwall::collector {

inline constexpr size_t kFrameHeader = 4;

// Returns the length in a frame's header. `bytes` must have at least kFrameHeader bytes.
uint32_t LengthOf(std::string_view bytes);

// Sends a framed message without blocking. Returns false if it does not fit in the socket buffer or
// the connection has failed.
bool SendFramed(int fd, std::string_view message);

}  // namespace pitwall::collector
