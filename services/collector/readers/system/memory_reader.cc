// Reader of /proc/meminfo: memory usage.
#include <algorithm>
#include <utility>

#include "services/collector/files/proc_file.h"
#include "services/collector/files/text_scan.h"
#include "services/collector/readers/system/system_readers.h"
#include "services/model/value.h"

namespace pitwall::collector {
namespace {

// Fields in the file, in kibibytes.
struct Memory {
  uint64_t total = 0;
  uint64_t free = 0;
  uint64_t buffers = 0;
  uint64_t cached = 0;
  uint64_t reclaimable = 0;
  uint64_t available = 0;
  bool has_available = false;
};

class MemoryReader final : public SeriesReader {
 public:
  explicit MemoryReader(const ReaderContext& context)
      : context_(context), file_(UnderRoot(context.root, "proc/meminfo")) {}

  bool Read() override {
    const auto text = file_.Read();
    valid_ = text.has_value() && Parse(*text);
    if (!valid_) {
      context_.counters->read_errors.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    return !std::exchange(known_, true);
  }

  void Describe(std::vector<SeriesDescriptor>* out) const override {
    if (!known_) return;
    for (std::string_view state : {"used", "free", "cached", "buffers"}) {
      out->push_back(NodeSeries(context_, SeriesKind::kGauge, "system_memory_usage_bytes",
                                {{"state", state}}));
    }
    out->push_back(NodeSeries(context_, SeriesKind::kGauge, "system_memory_limit_bytes", {}));
    out->push_back(NodeSeries(context_, SeriesKind::kGauge, "system_memory_utilization_ratio", {}));
  }

  double* Fill(double* row) const override {
    if (!known_) return row;
    if (!valid_) {
      std::fill(row, row + 6, MissingValue());
      return row + 6;
    }
    const Memory& m = memory_;
    const uint64_t cached = m.cached + m.reclaimable;
    const uint64_t unused = m.free + m.buffers + cached;
    const uint64_t available = std::min(m.total, m.has_available ? m.available : unused);
    row[0] = Bytes(m.total > unused ? m.total - unused : 0);
    row[1] = Bytes(m.free);
    row[2] = Bytes(cached);
    row[3] = Bytes(m.buffers);
    row[4] = Bytes(m.total);
    row[5] = static_cast<double>(m.total - available) / static_cast<double>(m.total);
    return row + 6;
  }

 private:
  static double Bytes(uint64_t kibibytes) { return static_cast<double>(kibibytes) * 1024; }

  bool Parse(std::string_view text) {
    memory_ = {};
    TextScan lines(text);
    std::string_view line;
    while (lines.Line(&line)) {
      TextScan words(line);
      const std::string_view name = words.Word();
      const auto value = words.Number();
      if (!value.has_value()) continue;
      if (name == "MemTotal:") memory_.total = *value;
      if (name == "MemFree:") memory_.free = *value;
      if (name == "Buffers:") memory_.buffers = *value;
      if (name == "Cached:") memory_.cached = *value;
      if (name == "SReclaimable:") memory_.reclaimable = *value;
      if (name == "MemAvailable:") {
        memory_.available = *value;
        memory_.has_available = true;
      }
    }
    return memory_.total > 0;
  }

  const ReaderContext context_;
  ProcFile file_;
  Memory memory_;
  bool known_ = false;
  bool valid_ = false;
};

}  // namespace

std::unique_ptr<SeriesReader> NewMemoryReader(const SystemContext& context) {
  return std::make_unique<MemoryReader>(context);
}

}  // namespace pitwall::collector
