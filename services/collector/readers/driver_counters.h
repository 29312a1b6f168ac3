// Driver counters of a network device, as in `ethtool -S`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/base/status.h"

namespace pitwall::collector {

struct DriverCounter {
  std::string name;  // name defined by the driver
  uint64_t value = 0;
};

class DriverCounters {
 public:
  virtual ~DriverCounters() = default;
  // Returns the counters of a device. Returns Unimplemented if the device does not exist or its
  // driver has no counters. Thread-safe.
  virtual StatusOr<std::vector<DriverCounter>> Read(const std::string& device) const = 0;
};

// Reads devices in this process's network namespace using the SIOCETHTOOL ioctl (linux/ethtool.h),
// which requires no privileges.
class EthtoolCounters final : public DriverCounters {
 public:
  StatusOr<std::vector<DriverCounter>> Read(const std::string& device) const override;
};

}  // namespace pitwall::collector
