// The topics of a data directory: <dir>/topics/<name>/topic.conf, a text file that a person can
// read and repair.
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
  uint32_t number = 0;  // unique for ever in this directory; the journal names topics by it
  TopicConfig config;
  std::string dir;  // <dir>/topics/<name>

  std::string PartitionDir(int32_t partition) const;
};

// Kafka's rule: 1 to 249 of [a-zA-Z0-9._-], not "." or "..". So a name is a valid folder name.
Status CheckTopicName(std::string_view name);
Status CheckTopicConfig(std::string_view name, const TopicConfig& config);

// The topics' folders, by name; those whose topic.conf does not parse say why.
struct TopicFolder {
  Topic topic;
  Status parsed;  // DataLoss names file and line
};
StatusOr<std::vector<TopicFolder>> LoadTopics(const std::string& data_dir);
// Makes the folders and the file; all or nothing.
StatusOr<Topic> CreateTopic(const std::string& data_dir, std::string_view name, uint32_t number,
                            const TopicConfig& config,
                            const std::shared_ptr<files::DiskFaults>& faults);
// Writes the file again (another retention; or it was damaged), and its folder where that is gone.
Status RewriteTopic(const Topic& topic, const std::shared_ptr<files::DiskFaults>& faults);

}  // namespace pitwall::log
