#include "services/processor/partition/commit_pipeline.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/base/text/utf8.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/io/topics.h"

namespace pitwall::processor {

namespace {

constexpr size_t kRefusedHeadBytes = 1000;  // bytes to keep of an output that the log rejects
constexpr size_t kDeadLettersPerCommit = 64;

}  // namespace

OutgoingRecord IssueRecord(int32_t partition, const IssueEvent& event) {
  return {.topic = std::string(kIssuesTopic),
          .partition = partition,
          .key = event.job,
          .value = cloudevents::EncodeCloudEvent(event),
          .headers = {{"content-type", "application/cloudevents+json"}}};
}

Status CommitPipeline::Open(Log* log) {
  ASSIGN_OR_RETURN(committer_, log->OpenCommitter(
                                   Cat(options_.group, "-", input_.topic, "-", input_.partition)));
  outputs_ = {};
  return OkStatus();
}

void CommitPipeline::Begin(int64_t offset, MonotonicTime now) {
  stats_.next_offset = offset;
  stats_.last_commit = now;
}

bool CommitPipeline::MustCommit() const {
  return has_events() || outputs_.dead_letters.size() >= kDeadLettersPerCommit;
}

bool CommitPipeline::Pending(int64_t next_offset) const {
  return next_offset > stats_.next_offset || !outputs_.dead_letters.empty();
}

Commit CommitPipeline::NewCommit(int64_t next_offset, std::string metadata) const {
  return {.group = options_.group,
          .input = input_,
          .next_offset = next_offset,
          .metadata = std::move(metadata),
          .outputs = {}};
}

void CommitPipeline::AddOutputs(Commit* commit) const {
  for (const IssueEvent& event : outputs_.events)
    commit->outputs.push_back(IssueRecord(input_.partition, event));
  for (const engine::DeadLetter& letter : outputs_.dead_letters) {
    commit->outputs.push_back({.topic = std::string(kDeadLetterTopic),
                               .key = letter.key,
                               .value = letter.value,
                               .headers = {{"reason", letter.reason},
                                           {"topic", input_.topic},
                                           {"partition", Cat(input_.partition)},
                                           {"offset", Cat(letter.offset.value())},
                                           {"original_bytes", Cat(letter.original_bytes)}}});
  }
}

Status CommitPipeline::CommitOutputs(Commit* commit) {
  Status status = Apply(*commit);
  uint64_t refused = 0;
  while (absl::IsInvalidArgument(status) && DropLargestOutput(commit, status)) {
    ++refused;
    status = Apply(*commit);
  }
  if (!status.ok()) {
    ++stats_.failed;
    return status;
  }
  outputs_.events.clear();
  outputs_.dead_letters.clear();
  stats_.refused_outputs += refused;
  stats_.next_offset = commit->next_offset;
  stats_.last_commit = clock_->Monotonic();
  ++stats_.count;
  return OkStatus();
}

Status CommitPipeline::Apply(const Commit& commit) {
  const MonotonicTime begin = clock_->Monotonic();
  Status status = committer_->Apply(commit);
  ticks_->NoteAppend(begin, clock_->Monotonic(), status);
  return status;
}

// Replaces the largest output with a dead letter that contains the output's first bytes. Without
// this, an output that the log permanently rejects would block the partition. Small outputs are
// kept.
bool CommitPipeline::DropLargestOutput(Commit* commit, const Status& refusal) {
  const auto largest = std::max_element(
      commit->outputs.begin(), commit->outputs.end(),
      [](const auto& a, const auto& b) { return a.value.size() < b.value.size(); });
  if (largest == commit->outputs.end()) return false;
  const std::string_view head = Utf8Prefix(largest->value, kRefusedHeadBytes);
  if (largest->topic == input_.topic || head.size() == largest->value.size()) return false;
  PITWALL_LOG(kError, "processor", "partition ", input_.partition, ": dropped a record of ",
              largest->value.size(), " bytes for ", largest->topic, " (job ", Quote(largest->key),
              "), which the log rejected: ", ToStd(refusal.message()));
  refusal_ = Utf8Prefix(ToStd(refusal.message()), kRefusedHeadBytes);
  OutgoingRecord letter{.topic = std::string(kDeadLetterTopic),
                        .key = largest->key,
                        .value = std::string(head),
                        .headers = {{"reason", Cat("rejected by the log: ", refusal_)},
                                    {"topic", largest->topic},
                                    {"partition", Cat(input_.partition)},
                                    {"original_bytes", Cat(largest->value.size())}}};
  commit->outputs.erase(largest);
  commit->outputs.push_back(std::move(letter));
  return true;
}

}  // namespace pitwall::processor
