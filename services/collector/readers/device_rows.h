// Rows of a table whose devices can change, such as network interfaces or disks.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace pitwall::collector {

inline constexpr size_t kMaxDevices = 256;

// Keeps the devices in the order of the file and detects changes. Not thread-safe.
template <size_t kColumns>
class DeviceRows {
 public:
  struct Device {
    std::string name;
    std::array<double, kColumns> values{};
  };

  void Begin() {
    seen_ = 0;
    changed_ = false;
  }
  // Returns the next device's values for the caller to overwrite. Returns nullptr beyond
  // kMaxDevices.
  std::array<double, kColumns>* Next(std::string_view name) {
    if (seen_ == kMaxDevices) return nullptr;
    if (seen_ == devices_.size() || devices_[seen_].name != name) {
      devices_.resize(seen_);
      devices_.push_back({std::string(name), {}});
      changed_ = true;
    }
    return &devices_[seen_++].values;
  }
  // Returns true if the set of devices has changed.
  bool End() {
    if (seen_ != devices_.size()) {
      devices_.resize(seen_);
      changed_ = true;
    }
    return changed_;
  }
  const std::vector<Device>& devices() const { return devices_; }

 private:
  std::vector<Device> devices_;
  size_t seen_ = 0;
  bool changed_ = false;
};

}  // namespace pitwall::collector
