#include "services/processor/derived_outputs.h"

#include <algorithm>

#include "services/io/topics.h"
#include "services/processor/commit_metadata.h"
#include "services/processor/partition_processor.h"

namespace pitwall::processor {

DerivedOutputs OutputsOfTelemetry() {
  return {.group = PartitionOptions().group,
          .input = std::string(kTelemetryTopic),
          .outputs = {std::string(kIssuesTopic), std::string(kStateTopic)},
          .needs_from = [](const CommittedOffset& at) -> StatusOr<int64_t> {
            ASSIGN_OR_RETURN(const CommitMetadata metadata, ParseCommitMetadata(at.metadata));
            return std::min(metadata.replay, at.offset);
          }};
}

}  // namespace pitwall::processor
