// Reader of a job's control group (version 2) on this node.
#include <array>

#include "services/base/text/strings.h"
#include "services/collector/files/proc_file.h"
#include "services/collector/files/text_scan.h"
#include "services/collector/readers/series_reader.h"
#include "services/model/value.h"

namespace pitwall::collector {
namespace {

constexpr std::array<std::string_view, 3> kResources = {"cpu", "io", "memory"};
constexpr size_t kColumns =
    3 + 2 * kResources.size();  // for CPU time, memory, memory limit, and pressure

class CgroupReader final : public SeriesReader {
 public:
  CgroupReader(const ReaderContext& context, std::string_view path)
      : context_(context),
        dir_(UnderRoot(UnderRoot(context.root, "sys/fs/cgroup"), path)),
        cpu_(UnderRoot(dir_, "cpu.stat")),
        memory_(UnderRoot(dir_, "memory.current")),
        limit_(UnderRoot(dir_, "memory.max")) {
    for (std::string_view resource : kResources)
      pressure_.emplace_back(UnderRoot(dir_, Cat(resource, ".pressure")));
  }

  bool Read() override {
    values_.fill(MissingValue());
    if (const auto text = cpu_.Read()) {
      TextScan lines(*text);
      std::string_view line;
      while (lines.Line(&line)) {
        if (!StartsWith(line, "usage_usec ")) continue;
        if (const auto usage = TextScan(line.substr(11)).Number())
          values_[0] = static_cast<double>(*usage) / 1e6;
      }
    }
    if (const auto text = memory_.Read()) {
      if (const auto bytes = TextScan(Trim(*text)).Number())
        values_[1] = static_cast<double>(*bytes);
    }
    if (const auto text = limit_.Read()) {  // "max" means no limit
      if (const auto bytes = TextScan(Trim(*text)).Number())
        values_[2] = static_cast<double>(*bytes);
    }
    for (size_t i = 0; i < kResources.size(); ++i) {
      const PressureTotals totals = ParsePressure(pressure_[i].Read().value_or(""));
      values_[3 + 2 * i] = totals.some;
      values_[4 + 2 * i] = totals.full;
    }
    // A group has no files for a controller that is not enabled in it. A series appears with its
    // first value and disappears with the group.
    bool changed = false;
    bool any = false;
    for (double value : values_) any |= !IsMissing(value);
    for (size_t i = 0; i < kColumns; ++i) {
      const bool there = any && (present_[i] || !IsMissing(values_[i]));
      changed |= there != present_[i];
      present_[i] = there;
    }
    return changed;
  }

  void Describe(std::vector<SeriesDescriptor>* out) const override {
    auto add = [&](size_t column, SeriesKind kind, std::string_view name,
                   std::initializer_list<std::pair<std::string_view, std::string_view>> labels) {
      if (present_[column]) out->push_back(NodeSeries(context_, kind, name, labels));
    };
    add(0, SeriesKind::kCounter, "cgroup_cpu_usage_seconds_total", {});
    add(1, SeriesKind::kGauge, "cgroup_memory_usage_bytes", {});
    add(2, SeriesKind::kGauge, "cgroup_memory_limit_bytes", {});
    for (size_t i = 0; i < kResources.size(); ++i) {
      constexpr std::string_view kName = "cgroup_pressure_stall_seconds_total";
      add(3 + 2 * i, SeriesKind::kCounter, kName, {{"resource", kResources[i]}, {"kind", "some"}});
      add(4 + 2 * i, SeriesKind::kCounter, kName, {{"resource", kResources[i]}, {"kind", "full"}});
    }
  }

  double* Fill(double* row) const override {
    for (size_t i = 0; i < kColumns; ++i) {
      if (present_[i]) *row++ = values_[i];
    }
    return row;
  }

 private:
  const ReaderContext context_;
  const std::string dir_;
  ProcFile cpu_;
  ProcFile memory_;
  ProcFile limit_;
  std::vector<ProcFile> pressure_;
  std::array<double, kColumns> values_{};
  std::array<bool, kColumns> present_{};
};

}  // namespace

std::unique_ptr<SeriesReader> NewCgroupReader(const ReaderContext& context, std::string_view path) {
  return std::make_unique<CgroupReader>(context, path);
}

}  // namespace pitwall::collector
