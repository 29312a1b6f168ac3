#include "services/codec/imports/system_metrics.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "services/base/text/strings.h"
#include "services/codec/lenient/json_text.h"
#include "services/model/position.h"

namespace pitwall::imports {

namespace {

using Json = nlohmann::json;

// Maximum number of ticks per core that wait for the second of their two rows (busy and iowait).
constexpr size_t kMaxOpenTicks = 1024;
constexpr double kNominalLimit = 100;
constexpr std::string_view kMark = "\xef\xbb\xbf";  // UTF-8 byte order mark at the start of a file

StatusOr<std::string> Text(const Json& row, const char* key, bool required) {
  const auto found = row.find(key);
  if (found == row.end() && !required) return std::string();
  if (found == row.end() || !found->is_string())
    return InvalidArgument(Cat(key, " is missing or not a string"));
  return found->get<std::string>();
}

StatusOr<double> Number(const Json& row, const char* key) {
  const auto found = row.find(key);
  if (found == row.end() || !found->is_number())
    return InvalidArgument(Cat(key, " is missing or not a number"));
  return found->get<double>();
}

// Checks that rates are not negative and that shares are percentages. Rounded percentages may
// slightly exceed 100.
Status CheckRange(std::string_view type, double value) {
  const bool percent = type == "cpu" || type == "gpu" || type == "memory";
  if (value >= 0 && (!percent || value <= 101)) return OkStatus();
  return InvalidArgument(
      Cat("Value ", FormatDouble(value), percent ? " is not a percentage" : " is not a rate"));
}

// Converts Unix seconds to nanoseconds, rounded to the microsecond resolution of the traces.
StatusOr<int64_t> Time(double seconds) {
  // The rounded time may be out of range as well.
  int64_t nanos = kMaxPosition;
  if (std::fabs(seconds) < static_cast<double>(kMaxPosition) / 1e9) {
    const double whole = std::floor(seconds);
    nanos =
        static_cast<int64_t>(whole) * 1'000'000'000 + std::llround((seconds - whole) * 1e6) * 1000;
  }
  if (nanos <= kMinPosition || nanos >= kMaxPosition)
    return InvalidArgument("Timestamp is out of range");
  return nanos;
}

// Returns "3" for "cpu3", because Pitwall's collector labels cores and GPUs this way.
std::string Without(std::string_view prefix, const std::string& name) {
  return StartsWith(name, prefix) && name.size() > prefix.size() ? name.substr(prefix.size())
                                                                 : name;
}

std::string LowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

// Counter for a rate. If `metric` is empty, the rate has no counter.
struct RateName {
  std::string_view metric, direction;
};
RateName RateOf(std::string_view type, std::string_view name) {
  if (type == "network") {
    if (name == "ReceiveBytesPerSecond") return {"system_network_io_bytes_total", "receive"};
    if (name == "TransmitBytesPerSecond") return {"system_network_io_bytes_total", "transmit"};
    return {};
  }
  if (name == "IOPS") return {"system_disk_operations_total", "all"};
  if (name == "ReadThroughputInBytesPerSecond") return {"system_disk_io_bytes_total", "read"};
  if (name == "WriteThroughputInBytesPerSecond") return {"system_disk_io_bytes_total", "write"};
  return {};
}

}  // namespace

void SystemMetricsReader::BeginFile(std::string name) {
  name_ = std::move(name);
  line_ = 1;
  rest_.clear();
  too_long_ = false;
  skipped_of_file_ = lenient::SkippedRecords("line");
}

Status SystemMetricsReader::Feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    too_long_ |= piece.size() > limits_.line_bytes - std::min(limits_.line_bytes, rest_.size());
    if (!too_long_) rest_.append(piece);
    if (end == std::string_view::npos) break;
    bytes.remove_prefix(end + 1);
    RETURN_IF_ERROR(Line());
    ++line_;
  }
  return OkStatus();
}

Status SystemMetricsReader::EndFile() {
  RETURN_IF_ERROR(Line());
  if (skipped_of_file_.used() == 0 && skipped_of_file_.skipped() > 0)
    return InvalidArgument(skipped_of_file_.first().front());
  skipped_.Add(skipped_of_file_);
  return OkStatus();
}

Status SystemMetricsReader::Line() {
  const std::string whole = std::exchange(rest_, {});
  const std::string place = Cat(name_, ":", line_, ":1");
  if (std::exchange(too_long_, false)) {
    skipped_of_file_.Skip(Cat(place, ": line is longer than ", limits_.line_bytes, " bytes"));
    return OkStatus();
  }
  std::string_view line = whole;
  if (line_ == 1 && StartsWith(line, kMark)) line.remove_prefix(kMark.size());
  if (Trim(line).empty()) return OkStatus();
  const Status row = Row(line);
  if (absl::IsResourceExhausted(row)) return row;  // the error already has its location
  if (row.ok()) skipped_of_file_.Use();
  return skipped_of_file_.SkipInvalid(Annotate(row, place));
}

Status SystemMetricsReader::Row(std::string_view line) {
  const Json row = lenient::ParseJson(line);
  if (!row.is_object()) return InvalidArgument("not a JSON object");
  ASSIGN_OR_RETURN(const std::string type, Text(row, "Type", true));
  ASSIGN_OR_RETURN(const std::string name, Text(row, "Name", false));
  ASSIGN_OR_RETURN(const std::string dimension, Text(row, "Dimension", true));
  ASSIGN_OR_RETURN(const std::string node, Text(row, "NodeId", true));
  ASSIGN_OR_RETURN(const double value, Number(row, "Value"));
  ASSIGN_OR_RETURN(const double seconds, Number(row, "Timestamp"));
  ASSIGN_OR_RETURN(const int64_t time_ns, Time(seconds));
  RETURN_IF_ERROR(CheckRange(type, value));
  const double share = value / 100;
  if (type == "cpu") {
    const bool wait = dimension == "I/OWaitPercentage";
    if (!wait && dimension != "CPUUtilization") return OkStatus();
    return TakeCore(node, Without("cpu", name), wait, time_ns, share);
  }
  if (type == "gpu") {
    const std::string gpu = Without("gpu", name);
    const auto labels = [&](std::string_view metric) {
      return Labels({{kMetricName, metric}, {"node", node}, {"gpu", gpu}});
    };
    if (dimension == "GPUUtilization")
      return Tell(labels("hw_gpu_utilization_ratio"), time_ns, share);
    if (dimension != "GPUMemoryUtilization") return OkStatus();
    RETURN_IF_ERROR(Tell(labels("hw_gpu_memory_limit_bytes"), time_ns, kNominalLimit));
    return Tell(labels("hw_gpu_memory_usage_bytes"), time_ns, value);
  }
  if (type == "memory") {
    if (name != "MemoryUsedPercent") return OkStatus();
    return Tell(Labels({{kMetricName, "system_memory_utilization_ratio"}, {"node", node}}), time_ns,
                share);
  }
  if (type != "i/o" && type != "network") return OkStatus();
  const RateName rate = RateOf(type, name);
  if (rate.metric.empty()) return OkStatus();
  const std::string device = type == "network" ? LowerCase(dimension) : "all";
  ASSIGN_OR_RETURN(const uint32_t series, out_->Find(Labels({{kMetricName, rate.metric},
                                                             {"node", node},
                                                             {"device", device},
                                                             {"direction", rate.direction}}),
                                                     ""));
  if (++rate_rows_ > limits_.rate_rows)
    return ResourceExhausted(Cat(name_, ":", line_, ":1: too many rate rows in one input (limit ",
                                 limits_.rate_rows, ")"));
  rates_[series].emplace_back(time_ns, value);
  return OkStatus();
}

Status SystemMetricsReader::Tell(Labels labels, int64_t time_ns, double value) {
  ASSIGN_OR_RETURN(const uint32_t series, out_->Find(labels, ""));
  return out_->sink()->Sample(series, time_ns, kNoStep, value, line_);
}

Status SystemMetricsReader::TakeCore(const std::string& node, const std::string& cpu, bool wait,
                                     int64_t time_ns, double share) {
  const auto labels = [&](std::string_view mode) {
    return Labels({{kMetricName, "system_cpu_utilization_ratio"},
                   {"node", node},
                   {"cpu", cpu},
                   {"mode", mode}});
  };
  RETURN_IF_ERROR(Tell(labels(wait ? "iowait" : "user"), time_ns, share));
  CoreState& core = cores_[{node, cpu}];
  if (core.idle_series == 0) {
    ASSIGN_OR_RETURN(core.idle_series, out_->Find(labels("idle"), ""));
  }
  Core& at = core.open[time_ns];
  (wait ? at.wait : at.busy) = share;
  (wait ? at.has_wait : at.has_busy) = true;
  if (at.has_wait && at.has_busy) {
    RETURN_IF_ERROR(TellIdle(core, time_ns, at));
    core.open.erase(time_ns);
  } else if (core.open.size() > kMaxOpenTicks) {
    const auto oldest = core.open.begin();
    RETURN_IF_ERROR(TellIdle(core, oldest->first, oldest->second));
    core.open.erase(oldest);
  }
  return OkStatus();
}

Status SystemMetricsReader::TellIdle(const CoreState& core, int64_t time_ns, const Core& at) {
  if (!at.has_busy) return OkStatus();  // iowait alone does not determine the idle share
  return out_->sink()->Sample(core.idle_series, time_ns, kNoStep,
                              std::max(1 - at.busy - at.wait, 0.0), std::max(line_, 1U));
}

Status SystemMetricsReader::Finish() {
  for (const auto& [name, core] : cores_) {
    for (const auto& [time_ns, at] : core.open) RETURN_IF_ERROR(TellIdle(core, time_ns, at));
  }
  cores_.clear();
  for (auto& [series, rows] : rates_) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    double total = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (i > 0) {
        if (rows[i].first == rows[i - 1].first) continue;  // two files contain the same row
        total += rows[i].second * static_cast<double>(rows[i].first - rows[i - 1].first) / 1e9;
      }
      RETURN_IF_ERROR(out_->sink()->Sample(series, rows[i].first, kNoStep, total, 1));
    }
  }
  rates_.clear();
  return skipped_.Finish("system metrics");
}

}  // namespace pitwall::imports
