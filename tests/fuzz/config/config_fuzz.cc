// Fuzzes the configuration file. The result must be an error that contains the file name, or a
// configuration. The printed form of a configuration must parse to the same configuration.
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "services/app/config/config.h"
#include "services/base/check.h"
#include "services/base/text/strings.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto config = pitwall::ParseConfig(
      "fuzz.yaml", std::string_view(reinterpret_cast<const char*>(data), size));
  if (!config.ok()) {
    PITWALL_CHECK(pitwall::StartsWith(pitwall::ToStd(config.status().message()), "fuzz.yaml"));
    return 0;
  }
  const std::string printed = pitwall::PrintConfig(*config);
  const auto again = pitwall::ParseConfig("printed.yaml", printed);
  if (!again.ok())
    std::fprintf(stderr, "%s\n%s", printed.c_str(), again.status().ToString().c_str());
  PITWALL_CHECK(again.ok());
  PITWALL_CHECK(pitwall::PrintConfig(*again) == printed);
  return 0;
}
