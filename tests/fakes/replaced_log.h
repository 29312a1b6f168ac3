// Log whose readers follow a recreated topic as Kafka readers do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "services/base/status.h"
#include "services/base/time.h"
#include "services/io/io.h"
#include "tests/fakes/forwarding_log.h"

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

// Log whose readers are of type ReplacedReader.
class ReplacedLog final : public ForwardingLog {
 public:
  using ForwardingLog::ForwardingLog;

  StatusOr<std::unique_ptr<PartitionReader>> OpenReader(const TopicPartition& at,
                                                        int64_t from) override {
    ASSIGN_OR_RETURN(std::unique_ptr<PartitionReader> reader, ForwardingLog::OpenReader(at, from));
    return std::make_unique<ReplacedReader>(std::move(reader));
  }
};

}  // namespace pitwall::fakes
