// Suppression of protobuf's log lines.
#pragma once

namespace pitwall::codec {

// Redirects protobuf's log lines to Pitwall's debug log. protobuf writes a line to stderr for each
// string that is not UTF-8, so a client that sends malformed data could fill a disk. Pitwall's own
// errors contain the reason. Call this function before parsing untrusted bytes. Idempotent and
// thread-safe.
void QuietProtobuf();

}  // namespace pitwall::codec
