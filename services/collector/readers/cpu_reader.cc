// Reader of /proc/stat: seconds and share of each mode, per core.
#include <unistd.h>

#include <array>

#include "services/base/text/strings.h"
#include "services/collector/files/proc_file.h"
#include "services/collector/files/text_scan.h"
#include "services/collector/readers/series_reader.h"
#include "services/model/value.h"

namespace pitwall::collector {
namespace {

constexpr size_t kMaxBytes = 8u << 20;
constexpr size_t kModes = 8;
constexpr std::array<std::string_view, kModes> kModeNames = {"user",   "nice", "system",  "idle",
                                                             "iowait", "irq",  "softirq", "steal"};
using Jiffies = std::array<uint64_t, kModes>;

struct Core {
  uint32_t number = 0;
  Jiffies now{};
  Jiffies before{};
  bool has_before = false;
};

class CpuReader final : public SeriesReader {
 public:
  explicit CpuReader(const ReaderContext& context)
      : context_(context),
        file_(UnderRoot(context.root, "proc/stat")),
        jiffies_per_second_(static_cast<double>(sysconf(_SC_CLK_TCK))) {}

  bool Read() override {
    const auto text = file_.Read(limit_);
    if (!text.has_value()) {
      context_.counters->read_errors.fetch_add(1, std::memory_order_relaxed);
      valid_ = false;
      return false;
    }
    // The core lines come first. The interrupt line after them can be many kilobytes long and is
    // not needed.
    if (text->size() == limit_ && limit_ < kMaxBytes &&
        text->find("\nintr") == std::string_view::npos) {
      limit_ *= 2;
      return Read();
    }
    bool changed = false;
    size_t seen = 0;
    TextScan lines(*text);
    std::string_view line;
    while (lines.Line(&line)) {
      if (!StartsWith(line, "cpu")) break;
      TextScan words(line.substr(3));
      if (line.size() > 3 && line[3] == ' ') continue;  // sum over all cores
      const std::optional<uint64_t> number = words.Number();
      Jiffies now{};
      size_t mode = 0;
      for (; mode < kModes; ++mode) {
        const std::optional<uint64_t> jiffies = words.Number();
        if (!jiffies.has_value()) break;  // older kernels have fewer modes
        now[mode] = *jiffies;
      }
      if (!number.has_value() || *number > UINT32_MAX || mode < 4) {
        context_.counters->read_errors.fetch_add(1, std::memory_order_relaxed);
        continue;
      }
      if (seen == cores_.size() || cores_[seen].number != *number) {
        // The set of cores has changed, so later entries may belong to other cores.
        cores_.resize(seen);
        cores_.push_back({static_cast<uint32_t>(*number), {}, {}, false});
        changed = true;
      } else {
        cores_[seen].before = cores_[seen].now;
        cores_[seen].has_before = valid_;
      }
      cores_[seen].now = now;
      ++seen;
    }
    if (seen != cores_.size()) {
      cores_.resize(seen);
      changed = true;
    }
    valid_ = true;
    return changed;
  }

  void Describe(std::vector<SeriesDescriptor>* out) const override {
    for (const Core& core : cores_) {
      const std::string number = Cat(core.number);
      for (std::string_view mode : kModeNames) {
        out->push_back(NodeSeries(context_, SeriesKind::kGauge, "system_cpu_utilization_ratio",
                                  {{"cpu", number}, {"mode", mode}}));
      }
      for (std::string_view mode : kModeNames) {
        out->push_back(NodeSeries(context_, SeriesKind::kCounter, "system_cpu_time_seconds_total",
                                  {{"cpu", number}, {"mode", mode}}));
      }
    }
  }

  double* Fill(double* row) const override {
    for (const Core& core : cores_) {
      Jiffies spent{};
      uint64_t total = 0;
      for (size_t mode = 0; mode < kModes; ++mode) {
        // According to proc(5), the iowait value may decrease.
        spent[mode] = core.now[mode] > core.before[mode] ? core.now[mode] - core.before[mode] : 0;
        total += spent[mode];
      }
      const bool known = valid_ && core.has_before && total > 0;
      for (size_t mode = 0; mode < kModes; ++mode) {
        *row++ =
            known ? static_cast<double>(spent[mode]) / static_cast<double>(total) : MissingValue();
      }
      for (size_t mode = 0; mode < kModes; ++mode) {
        *row++ =
            valid_ ? static_cast<double>(core.now[mode]) / jiffies_per_second_ : MissingValue();
      }
    }
    return row;
  }

 private:
  const ReaderContext context_;
  ProcFile file_;
  const double jiffies_per_second_;
  size_t limit_ = 32u << 10;
  std::vector<Core> cores_;
  bool valid_ = false;  // whether the last reading succeeded
};

}  // namespace

std::unique_ptr<SeriesReader> NewCpuReader(const ReaderContext& context) {
  return std::make_unique<CpuReader>(context);
}

SeriesDescriptor NodeSeries(
    const ReaderContext& context, SeriesKind kind, std::string_view name,
    std::initializer_list<std::pair<std::string_view, std::string_view>> labels) {
  std::vector<Label> pairs;
  pairs.reserve(labels.size() + 2);
  pairs.push_back({std::string(kMetricName), std::string(name)});
  pairs.push_back({"node", context.node});
  for (const auto& [label, value] : labels)
    pairs.push_back({std::string(label), std::string(value)});
  return {Labels::FromPairs(std::move(pairs)), kind};
}

}  // namespace pitwall::collector
