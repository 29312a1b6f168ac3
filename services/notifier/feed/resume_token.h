// Opaque tokens: the position of a watcher, and where a list goes on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "services/base/status.h"
#include "services/notifier/feed/recent_events.h"

namespace pitwall::notifier {

// Versioned and checked; base64 for URLs. A token of another topic, with more partitions than there
// are, or damaged is InvalidArgument; partitions that were added since count from their start.
std::string EncodeResumeToken(std::string_view topic, const Positions& positions);
StatusOr<Positions> DecodeResumeToken(std::string_view topic, int32_t partitions,
                                      std::string_view token);

struct PageCursor {
  int64_t active_since_ns = 0;  // of the last issue shown
  std::string issue;            // its id
  std::string resume_token;     // of the first page
};
std::string EncodePageToken(const PageCursor& cursor);
StatusOr<PageCursor> DecodePageToken(std::string_view token);

}  // namespace pitwall::notifier
