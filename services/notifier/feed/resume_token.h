// Opaque tokens. A resume token contains the position of a watcher, and a page token contains the
// position of the next page.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "services/base/status.h"
#include "services/notifier/feed/recent_events.h"

namespace pitwall::notifier {

// The token is versioned URL-safe base64 with a checksum. Returns InvalidArgument if the token is
// corrupt, belongs to another topic, or has more partitions than the topic. Partitions that were
// added later are read from their start.
std::string EncodeResumeToken(std::string_view topic, const Positions& positions);
StatusOr<Positions> DecodeResumeToken(std::string_view topic, int32_t partitions,
                                      std::string_view token);

struct PageCursor {
  int64_t active_since_ns = 0;  // start time of the last issue on the page
  std::string issue;            // ID of the last issue on the page
  std::string resume_token;     // resume token of the first page
};
std::string EncodePageToken(const PageCursor& cursor);
StatusOr<PageCursor> DecodePageToken(std::string_view token);

}  // namespace pitwall::notifier
