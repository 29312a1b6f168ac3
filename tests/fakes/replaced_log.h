// Log whose readers follow a recreated topic as Kafka readers do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/status.h"
#include "services/base/time.h"
#include "services/io/io.h"

namespace pitwall::fakes {

// Reader that moves to the end of a recreated topic in Poll and returns DataLoss. The next
// EndOffset() then fails.
class ReplacedReader final : public PartitionReader {
 public:
  explicit ReplacedReader(std::unique_ptr<PartitionReader> inner) : inner_(std::move(inner)) {}

  Status Poll(size_t max_records, size_t max_bytes, Duration timeout,
              std::vector<Record>* out) override {
    ASSIGN_OR_RETURN(const int64_t end, inner_->EndOffset());
    if (inner_->position() <= end) return inner_->Poll(max_records, max_bytes, timeout, out);
    RETURN_IF_ERROR(inner_->Seek(kFromEnd));
    fails_ = true;
    return DataLoss("the topic was recreated");
  }
  int64_t position() const override { return inner_->position(); }
  Status Seek(int64_t offset) override { return inner_->Seek(offset); }
  StatusOr<int64_t> EndOffset() override {
    if (std::exchange(fails_, false)) return Unavailable("the leader moves");
    return inner_->EndOffset();
  }
  StatusOr<int64_t> StartOffset() override { return inner_->StartOffset(); }
  void Interrupt() override { inner_->Interrupt(); }

 private:
  const std::unique_ptr<PartitionReader> inner_;
  bool fails_ = false;
};

// Passes all calls to `inner`, which is borrowed. Its readers are of type ReplacedReader.
class ReplacedLog final : public Log {
 public:
  explicit ReplacedLog(Log* inner) : inner_(inner) {}

  Status EnsureTopic(std::string_view topic, const TopicConfig& config) override {
    return inner_->EnsureTopic(topic, config);
  }
  StatusOr<int32_t> Partitions(std::string_view topic) override {
    return inner_->Partitions(topic);
  }
  StatusOr<std::unique_ptr<PartitionReader>> OpenReader(const TopicPartition& at,
                                                        int64_t from) override {
    ASSIGN_OR_RETURN(std::unique_ptr<PartitionReader> reader, inner_->OpenReader(at, from));
    return std::make_unique<ReplacedReader>(std::move(reader));
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
