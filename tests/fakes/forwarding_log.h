// Log that passes all calls to another log. Tests override the calls that must differ.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "services/base/status.h"
#include "services/io/io.h"

namespace pitwall::fakes {

// Passes all calls to `inner`, which is borrowed. As thread-safe as `inner`.
class ForwardingLog : public Log {
 public:
  explicit ForwardingLog(Log* inner) : inner_(inner) {}

  Status EnsureTopic(std::string_view topic, const TopicConfig& config) override {
    return inner_->EnsureTopic(topic, config);
  }
  StatusOr<int32_t> Partitions(std::string_view topic) override {
    return inner_->Partitions(topic);
  }
  StatusOr<std::unique_ptr<PartitionReader>> OpenReader(const TopicPartition& at,
                                                        int64_t from) override {
    return inner_->OpenReader(at, from);
  }
  StatusOr<std::unique_ptr<Appender>> OpenAppender() override { return inner_->OpenAppender(); }
  StatusOr<std::unique_ptr<Committer>> OpenCommitter(std::string_view transactional_id) override {
    return inner_->OpenCommitter(transactional_id);
  }
  StatusOr<std::optional<CommittedOffset>> Committed(std::string_view group,
                                                     const TopicPartition& at) override {
    return inner_->Committed(group, at);
  }
  Status StorePosition(std::string_view group, const TopicPartition& at,
                       const CommittedOffset& to) override {
    return inner_->StorePosition(group, at, to);
  }

 private:
  Log* const inner_;
};

}  // namespace pitwall::fakes
