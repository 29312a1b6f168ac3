// Estimate of a message's size in memory before the message is parsed.
#pragma once

#include <google/protobuf/descriptor.h>

#include <cstddef>
#include <string_view>

#include "services/base/status.h"

namespace pitwall::collector {

// Counts the parts that become separate objects: nested messages at any depth, and unknown fields.
// An empty part takes 2 bytes on the wire but about 50 times as much memory once parsed. Returns
// InvalidArgument if the message has more than `limit` parts or is malformed.
Status CheckParts(const google::protobuf::Descriptor& type, std::string_view bytes, size_t limit);

}  // namespace pitwall::collector
