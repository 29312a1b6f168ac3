#include "services/base/system/random_hex.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string_view>

#include "services/base/text/strings.h"

namespace pitwall {

StatusOr<std::string> RandomHex(size_t bytes) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> random(std::fopen("/dev/urandom", "rb"),
                                                               std::fclose);
  char buffer[64];
  bytes = std::min(bytes, sizeof(buffer));
  if (random == nullptr || std::fread(buffer, 1, bytes, random.get()) != bytes)
    return Internal("/dev/urandom: not readable");
  return Hex(std::string_view(buffer, bytes));
}

}  // namespace pitwall
