// Reset that drops a partition's state at startup because the operator accepts a truncated or
// replaced log (--accept-log-reset).
#pragma once

#include <cstdint>

#include "services/base/status.h"
#include "services/engine/program/compiled_rules.h"
#include "services/io/io.h"
#include "services/processor/partition/commit_pipeline.h"
#include "services/processor/partition/partition_options.h"
#include "services/processor/recovery/resume_point.h"

namespace pitwall::processor {

// One-time permission to drop unusable state, and the record that stopped the replay. Not
// thread-safe.
class LogReset {
 public:
  // All pointers and `options` must outlive this object.
  LogReset(TopicPartition input, Log* log, engine::RuleSetProvider* rules,
           const PartitionOptions& options)
      : input_(std::move(input)), log_(log), rules_(rules), options_(options) {}

  // Returns true if the operator has allowed this start to drop unusable state.
  bool Allows(const Status& why) const;
  // Marks the record at `offset` as one that cannot be applied. Returns the error and a suggested
  // fix.
  Status NoteFault(int64_t offset, Status why);
  // Returns true if the replay stopped at a record because data is gone and the operator has
  // allowed this start to skip it.
  bool AllowsSkip() const { return IsGone(fault_) && Allows(fault_); }
  // Drops the state, ends open issues, and continues with the new log's records.
  Status Accept(ResumePoint* resume, CommitPipeline* commits);

 private:
  const TopicPartition input_;
  Log* const log_;
  engine::RuleSetProvider* const rules_;
  const PartitionOptions& options_;
  bool used_ = false;
  // Error for an old record that requires a lost rule set. Recovery cannot continue past the
  // record's offset.
  Status fault_;
  int64_t fault_offset_ = -1;
};

}  // namespace pitwall::processor
