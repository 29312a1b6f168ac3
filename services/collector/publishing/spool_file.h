// I/O for spool files. Numbers are little-endian.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall::collector {

void Put32(std::string* out, uint32_t v);
void Put64(std::string* out, uint64_t v);
uint32_t Get32(const char* at);
uint64_t Get64(const char* at);

// Writes all bytes at `offset`. `path` identifies the file in errors.
Status WriteAll(int fd, std::string_view bytes, uint64_t offset, const std::string& path);
// Reads at most bytes->size() bytes and truncates `bytes` to the number of bytes read.
Status ReadUpTo(int fd, uint64_t offset, std::string* bytes, const std::string& path);

}  // namespace pitwall::collector
