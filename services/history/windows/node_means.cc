#include "services/history/windows/node_means.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "services/base/text/strings.h"
#include "services/model/value.h"

namespace pitwall::history {

void NodeMeans::Add(const std::string& node, const std::string& before, const std::string& unit,
                    std::vector<Part> parts, Schema* schema) {
  if (parts.empty()) return;
  for (const char* what : {"min", "mean", "max"}) {
    schema->series.push_back(
        {Labels({{kMetricName, Cat(before, "_", what, "_", unit)}, {"node", node}}),
         SeriesKind::kGauge});
  }
  groups_.push_back(std::move(parts));
}

std::unique_ptr<const NodeMeans> NodeMeans::Of(const Schema& schema) {
  struct Core {
    std::vector<uint32_t> idle, wait;
  };
  struct Node {
    std::map<std::string, Core, std::less<>> cores;
    std::vector<uint32_t> gpus, memory;
  };
  std::map<std::string, Node, std::less<>> nodes;
  for (size_t i = 0; i < schema.series.size(); ++i) {
    const Labels& labels = schema.series[i].labels;
    const std::string_view name = labels.Name(), node = labels.Get("node");
    const auto column = static_cast<uint32_t>(i);
    if (node.empty()) continue;
    if (name == "system_cpu_utilization_ratio" && !labels.Get("cpu").empty()) {
      const std::string_view mode = labels.Get("mode");
      if (mode != "idle" && mode != "iowait") continue;
      Core& core = nodes[std::string(node)].cores[std::string(labels.Get("cpu"))];
      (mode == "idle" ? core.idle : core.wait).push_back(column);
    } else if (name == "hw_gpu_utilization_ratio" && !labels.Get("gpu").empty()) {
      nodes[std::string(node)].gpus.push_back(column);
    } else if (name == "hw_gpu_memory_usage_bytes" && !labels.Get("gpu").empty()) {
      nodes[std::string(node)].memory.push_back(column);
    }
  }
  if (nodes.empty()) return nullptr;
  std::unique_ptr<NodeMeans> out(new NodeMeans());
  Schema made;
  made.stream = schema.stream | kMadeStream;
  for (const auto& [name, node] : nodes) {
    std::vector<Part> busy, wait, gpus, memory;
    for (const auto& [cpu, core] : node.cores) {
      if (core.idle.empty()) continue;
      busy.push_back({true, {}, core.idle});
      busy.back().less.insert(busy.back().less.end(), core.wait.begin(), core.wait.end());
      if (!core.wait.empty()) wait.push_back({false, core.wait, {}});
    }
    for (const uint32_t column : node.gpus) gpus.push_back({false, {column}, {}});
    for (const uint32_t column : node.memory) memory.push_back({false, {column}, {}});
    out->Add(name, "node_cpu_utilization", "ratio", std::move(busy), &made);
    out->Add(name, "node_cpu_iowait", "ratio", std::move(wait), &made);
    out->Add(name, "node_gpu_utilization", "ratio", std::move(gpus), &made);
    out->Add(name, "node_gpu_memory_usage", "bytes", std::move(memory), &made);
  }
  if (made.series.empty()) return nullptr;
  made.id = SchemaId(made.stream, made.series);
  out->schema_ = SharedSchema(std::move(made));
  return out;
}

void NodeMeans::Append(std::span<const double> row, std::vector<double>* out) const {
  for (const std::vector<Part>& parts : groups_) {
    double least = 0, greatest = 0, sum = 0;
    size_t count = 0;
    for (const Part& part : parts) {
      double value = part.one ? 1 : 0;
      for (const uint32_t column : part.plus) value += row[column];
      for (const uint32_t column : part.less) value -= row[column];
      if (!std::isfinite(value)) continue;  // a missing column makes the value NaN
      if (part.one) value = std::clamp(value, 0.0, 1.0);
      least = count == 0 ? value : std::min(least, value);
      greatest = count == 0 ? value : std::max(greatest, value);
      sum += value;
      ++count;
    }
    if (count == 0) {
      out->insert(out->end(), 3, MissingValue());
    } else {
      out->insert(out->end(), {least, sum / static_cast<double>(count), greatest});
    }
  }
}

}  // namespace pitwall::history
