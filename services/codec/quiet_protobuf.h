// protobuf's own log lines.
#pragma once

namespace pitwall::codec {

// protobuf writes a line to stderr for each text that is not UTF-8; whoever sends bad bytes could
// fill a disk with them. After this they are our debug lines: our own reasons say what is wrong.
// Call it before parsing what others wrote; from any thread, as often as one likes.
void QuietProtobuf();

}  // namespace pitwall::codec
