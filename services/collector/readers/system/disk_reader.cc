// Reader of /proc/diskstats: traffic per whole disk.
#include <unistd.h>

#include <array>

#include "services/base/text/strings.h"
#include "services/collector/files/text_scan.h"
#include "services/collector/readers/device_file_reader.h"
#include "services/collector/readers/system/system_readers.h"

namespace pitwall::collector {
namespace {

constexpr size_t kColumns = 11;       // number of columns in all kernels since 2.6
constexpr double kSectorBytes = 512;  // unit of the file, regardless of the disk's sector size

class DiskReader final : public DeviceFileReader<5> {
 public:
  explicit DiskReader(const ReaderContext& context)
      : DeviceFileReader(context, UnderRoot(context.root, "proc/diskstats")),
        block_dir_(UnderRoot(context.root, "sys/block")),
        has_block_dir_(access(block_dir_.c_str(), R_OK) == 0) {}

  void Describe(std::vector<SeriesDescriptor>* out) const override {
    for (const auto& device : rows().devices()) {
      for (std::string_view name : {"system_disk_io_bytes_total", "system_disk_operations_total"}) {
        for (std::string_view direction : {"read", "write"}) {
          out->push_back(NodeSeries(context(), SeriesKind::kCounter, name,
                                    {{"device", device.name}, {"direction", direction}}));
        }
      }
      out->push_back(NodeSeries(context(), SeriesKind::kCounter,
                                "system_disk_io_time_seconds_total", {{"device", device.name}}));
    }
  }

 private:
  void ReadLine(std::string_view line) override {
    TextScan words(line);
    words.Word();  // major device number
    words.Word();  // minor device number
    const std::string_view device = words.Word();
    if (device.empty() || StartsWith(device, "loop") || StartsWith(device, "ram") ||
        !IsWholeDisk(device))
      return;
    std::array<uint64_t, kColumns> columns{};
    if (!words.Numbers(columns)) {
      CountError();
      return;
    }
    if (auto* row = rows().Next(device)) {
      (*row)[0] = static_cast<double>(columns[2]) * kSectorBytes;
      (*row)[1] = static_cast<double>(columns[6]) * kSectorBytes;
      (*row)[2] = static_cast<double>(columns[0]);
      (*row)[3] = static_cast<double>(columns[4]);
      (*row)[4] = static_cast<double>(columns[9]) / 1e3;
    }
  }

  // Partitions are skipped, because their traffic is already included in their disk's traffic. The
  // result is cached by name.
  bool IsWholeDisk(std::string_view device) {
    if (!has_block_dir_) return true;
    if (const auto it = whole_.find(device); it != whole_.end()) return it->second;
    if (whole_.size() > 4 * kMaxDevices) whole_.clear();
    const bool whole = access(Cat(block_dir_, "/", device).c_str(), F_OK) == 0;
    whole_.emplace(std::string(device), whole);
    return whole;
  }

  const std::string block_dir_;
  const bool has_block_dir_;
  StringMap<bool> whole_;
};

}  // namespace

std::unique_ptr<SeriesReader> NewDiskReader(const SystemContext& context) {
  return std::make_unique<DiskReader>(context);
}

}  // namespace pitwall::collector
