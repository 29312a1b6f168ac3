// Topics in a data directory. Each topic has a text file <dir>/topics/<name>/topic.conf that an
// operator can read and repair.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/adapters/files/file.h"
#include "services/base/status.h"
#include "services/io/io.h"

namespace pitwall::log {

inline constexpr int32_t kMaxPartitions = 4096;
inline constexpr size_t kMaxTopics = 1024;

struct Topic {
  std::string name;
  // Unique in this directory and never reused; identifies the topic in the journal.
  uint32_t number = 0;
  TopicConfig config;
  std::string dir;  // <dir>/topics/<name>

  std::string PartitionDir(int32_t partition) const;
};

// Checks Kafka's naming rule: 1 to 249 characters from [a-zA-Z0-9._-], not "." or "..". Every valid
// name is also a valid directory name.
Status CheckTopicName(std::string_view name);
Status CheckTopicConfig(std::string_view name, const TopicConfig& config);

// Topic directory. If topic.conf does not parse, `parsed` contains the error.
struct TopicFolder {
  Topic topic;
  Status parsed;  // DataLoss with the file and line
};
StatusOr<std::vector<TopicFolder>> LoadTopics(const std::string& data_dir);
// Creates the directories and the file, or nothing at all.
StatusOr<Topic> CreateTopic(const std::string& data_dir, std::string_view name, uint32_t number,
                            const TopicConfig& config,
                            const std::shared_ptr<files::DiskFaults>& faults);
// Rewrites the file after a retention change or damage. Recreates its directory if missing.
Status RewriteTopic(const Topic& topic, const std::shared_ptr<files::DiskFaults>& faults);

}  // namespace pitwall::log
