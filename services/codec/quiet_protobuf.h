// Suppression of protobuf's own log lines.
#pragma once

namespace pitwall::codec {

// Redirects protobuf's log lines to our debug log. protobuf writes a line to stderr for each string
// that is not UTF-8, so a client that sends bad bytes could fill a disk. Our own errors give the
// reason. Call it before parsing untrusted bytes. Idempotent and thread-safe.
void QuietProtobuf();

}  // namespace pitwall::codec
