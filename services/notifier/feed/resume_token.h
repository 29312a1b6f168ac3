// Opaque tokens: the position of a watcher, and of the next page of a list.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "services/base/status.h"
#include "services/notifier/feed/recent_events.h"

namespace pitwall::notifier {

// Versioned, with a checksum, in URL-safe base64. InvalidArgument: the token is damaged, belongs to
// another topic, or has more partitions than the topic. Partitions added since begin at their
// start.
std::string EncodeResumeToken(std::string_view topic, const Positions& positions);
StatusOr<Positions> DecodeResumeToken(std::string_view topic, int32_t partitions,
                                      std::string_view token);

struct PageCursor {
  int64_t active_since_ns = 0;  // of the last issue of the page
  std::string issue;            // ID of the last issue of the page
  std::string resume_token;     // of the first page
};
std::string EncodePageToken(const PageCursor& cursor);
StatusOr<PageCursor> DecodePageToken(std::string_view token);

}  // namespace pitwall::notifier
