// Counters of a network device's driver, as in `ethtool -S`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/base/status.h"

namespace pitwall::collector {

struct DriverCounter {
  std::string name;  // the driver's own: no two drivers agree
  uint64_t value = 0;
};

class DriverCounters {
 public:
  virtual ~DriverCounters() = default;
  // Unimplemented: the device is not there, or its driver counts nothing. Thread-safe.
  virtual StatusOr<std::vector<DriverCounter>> Read(const std::string& device) const = 0;
};

// Of this process's network namespace, by the ioctl SIOCETHTOOL (linux/ethtool.h); anybody may ask.
class EthtoolCounters final : public DriverCounters {
 public:
  StatusOr<std::vector<DriverCounter>> Read(const std::string& device) const override;
};

}  // namespace pitwall::collector
