#include "services/adapters/embedded_log/format/topic_catalog.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_format.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"

namespace pitwall::log {
namespace {

constexpr size_t kMaxConfBytes = 64 << 10;

std::string TopicsDir(const std::string& data_dir) { return Cat(data_dir, "/topics"); }
std::string ConfPath(const std::string& topic_dir) { return Cat(topic_dir, "/topic.conf"); }

std::string ConfText(const Topic& topic) {
  std::string text = Cat("number: ", topic.number, "\npartitions: ", topic.config.partitions,
                         "\ncompacted: ", topic.config.compacted ? "true" : "false",
                         "\nretention_ms: ", topic.config.retention_ms, "\n");
  // The checksum detects flipped bits. Operators who edit the file must remove this line.
  text += absl::StrFormat("crc32c: %08x\n", Crc32c(text));
  return text;
}

Status ParseConf(std::string_view text, const std::string& path, Topic* topic) {
  int line_number = 0;
  std::optional<int64_t> number;
  std::optional<int64_t> partitions;
  std::optional<int64_t> retention;
  std::optional<bool> compacted;
  const auto bad = [&](std::string_view what) {
    return DataLoss(Cat(path, ":", line_number, ": ", what));
  };
  for (size_t at = 0; at < text.size();) {
    ++line_number;
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = Trim(text.substr(at, end - at));
    const size_t colon = line.find(':');
    if (!line.empty()) {
      if (colon == std::string_view::npos)
        return bad(Cat("must be \"name: value\" (got ", Quote(line), ")"));
      const std::string_view name = Trim(line.substr(0, colon));
      const std::string_view value = Trim(line.substr(colon + 1));
      const std::optional<int64_t> integer = ParseInt(value);
      if (name == "crc32c") {
        if (value != absl::StrFormat("%08x", Crc32c(text.substr(0, at)))) {
          return bad("checksum does not match; remove this line after a manual edit");
        }
      } else if (name == "compacted") {
        if (value != "true" && value != "false")
          return bad(Cat("must be true or false (got ", value, ")"));
        compacted = value == "true";
      } else if (!integer.has_value()) {
        return bad(Cat(name, " must be a number (got ", Quote(value), ")"));
      } else if (name == "number") {
        number = integer;
      } else if (name == "partitions") {
        partitions = integer;
      } else if (name == "retention_ms") {
        retention = integer;
      } else {
        return bad(Cat("unknown name ", Quote(name)));
      }
    }
    at = end + 1;
  }
  if (!number.has_value() || !partitions.has_value() || !retention.has_value() ||
      !compacted.has_value()) {
    return bad("number, partitions, compacted, and retention_ms must all be set");
  }
  if (*number < 1 || *number > UINT32_MAX || *partitions < 1 || *partitions > kMaxPartitions) {
    return bad("number or partitions is out of range");
  }
  topic->number = static_cast<uint32_t>(*number);
  topic->config.partitions = static_cast<int32_t>(*partitions);
  topic->config.retention_ms = *retention;
  topic->config.compacted = *compacted;
  return OkStatus();
}

}  // namespace

std::string Topic::PartitionDir(int32_t partition) const { return Cat(dir, "/", partition); }

Status CheckTopicName(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  if (name.empty() || name.size() > 249 || name == "." || name == ".." ||
      !std::all_of(name.begin(), name.end(), allowed)) {
    return InvalidArgument(
        Cat("topic name ", Quote(name), ": must be 1 to 249 letters, digits, '.', '_', and '-'"));
  }
  return OkStatus();
}

Status CheckTopicConfig(std::string_view name, const TopicConfig& config) {
  if (config.partitions < 1 || config.partitions > kMaxPartitions) {
    return InvalidArgument(Cat("topic ", name, ": partitions must be 1 to ", kMaxPartitions,
                               " (got ", config.partitions, ")"));
  }
  if (config.retention_ms < -1) {
    return InvalidArgument(Cat("topic ", name, ": retention_ms must be -1 or greater (got ",
                               config.retention_ms, ")"));
  }
  return OkStatus();
}

StatusOr<std::vector<TopicFolder>> LoadTopics(const std::string& data_dir) {
  const std::string topics_dir = TopicsDir(data_dir);
  const auto names = files::ListDirectory(topics_dir);
  if (names.status().code() == absl::StatusCode::kNotFound) return std::vector<TopicFolder>();
  RETURN_IF_ERROR(names.status());
  std::vector<TopicFolder> folders;
  for (const std::string& name : *names) {
    if (!CheckTopicName(name).ok()) continue;  // for example, lost+found
    TopicFolder folder;
    folder.topic.name = name;
    folder.topic.dir = Cat(topics_dir, "/", name);
    const std::string path = ConfPath(folder.topic.dir);
    auto text = files::ReadWhole(path, kMaxConfBytes);
    if (text.status().code() == absl::StatusCode::kNotFound) {
      folder.parsed = DataLoss(Cat(path, ": the file is missing"));
    } else if (text.status().code() == absl::StatusCode::kResourceExhausted) {
      folder.parsed = DataLoss(std::string(ToStd(text.status().message())));
    } else {
      RETURN_IF_ERROR(text.status());
      folder.parsed = ParseConf(*text, path, &folder.topic);
    }
    for (const TopicFolder& other : folders) {
      if (!folder.parsed.ok() || !other.parsed.ok()) continue;
      if (other.topic.number == folder.topic.number) {
        folder.parsed = DataLoss(Cat(path, ": topic number ", folder.topic.number,
                                     " is already used by topic ", other.topic.name));
      }
    }
    folders.push_back(std::move(folder));
  }
  return folders;
}

StatusOr<Topic> CreateTopic(const std::string& data_dir, std::string_view name, uint32_t number,
                            const TopicConfig& config,
                            const std::shared_ptr<files::DiskFaults>& faults) {
  Topic topic;
  topic.name = name;
  topic.number = number;
  topic.config = config;
  const std::string topics_dir = TopicsDir(data_dir);
  topic.dir = Cat(data_dir, "/making-topic");  // renamed when complete
  RETURN_IF_ERROR(files::RemoveTree(topic.dir));
  const std::string final_dir = Cat(topics_dir, "/", name);
  const auto make = [&]() -> Status {
    for (int32_t p = 0; p < config.partitions; ++p) {
      RETURN_IF_ERROR(files::MakeDirectories(topic.PartitionDir(p)));
    }
    RETURN_IF_ERROR(files::ReplaceFile(ConfPath(topic.dir), ConfText(topic), faults));
    RETURN_IF_ERROR(files::Rename(topic.dir, final_dir));
    return files::SyncDirectory(topics_dir);
  };
  if (const Status made = make(); !made.ok()) {
    (void)files::RemoveTree(topic.dir);
    return Annotate(made, Cat("create topic ", name));
  }
  topic.dir = final_dir;
  return topic;
}

Status RewriteTopic(const Topic& topic, const std::shared_ptr<files::DiskFaults>& faults) {
  for (int32_t p = 0; p < topic.config.partitions; ++p) {
    RETURN_IF_ERROR(files::MakeDirectories(topic.PartitionDir(p)));
  }
  return files::ReplaceFile(ConfPath(topic.dir), ConfText(topic), faults);
}

}  // namespace pitwall::log
