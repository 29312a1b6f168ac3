// Size estimate of a message before it is parsed.
#pragma once

#include <google/protobuf/descriptor.h>

#include <cstddef>
#include <string_view>

#include "services/base/status.h"

namespace pitwall::collector {

// Counts what becomes an object of its own: the messages inside a message of this type, at all
// depths, and the fields that nobody knows. An empty one is two bytes here and fifty times that
// when parsed. InvalidArgument: more than `limit`, or no such message.
Status CheckParts(const google::protobuf::Descriptor& type, std::string_view bytes, size_t limit);

}  // namespace pitwall::collector
