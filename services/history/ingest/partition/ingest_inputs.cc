#include "services/history/ingest/partition/ingest_inputs.h"

#include <algorithm>

#include "services/base/log.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"

namespace pitwall::history {
namespace {

constexpr size_t kPollRecords = 500;
constexpr size_t kPollBytes = size_t{8} << 20;
constexpr int64_t kRetryNs = kNanosPerSecond;
// Typical number of unread records in a partition with many jobs.
constexpr int64_t kFewRecords = 1000;

}  // namespace

IngestInputs::IngestInputs(Clock* clock, Log* log, HistoryStore* store, IngestControl* control,
                           const HistoryOptions& options, int32_t partition)
    : clock_(clock), log_(log), store_(store), control_(control), partition_(partition) {
  const auto add = [&](size_t input, EventTopic topic, const std::string& name, int32_t at) {
    inputs_[input].topic = topic;
    inputs_[input].follower =
        std::make_unique<TopicFollower>(clock, log, TopicPartition{name, at},
                                        FollowerOptions{.max_records = kPollRecords,
                                                        .max_bytes = kPollBytes,
                                                        .open_interval = Duration::Zero(),
                                                        .check_interval = Duration::Seconds(5)});
  };
  add(kTelemetry, EventTopic::kIssues, options.topics.telemetry, partition);
  add(1, EventTopic::kIssues, options.topics.issues, partition);
  add(2, EventTopic::kActions, options.topics.actions, partition);
  // One partition contains the capture replies of all jobs. Each thread ingests only the replies
  // for its own jobs.
  add(3, EventTopic::kCaptures, options.topics.captures, 0);
  add(4, EventTopic::kNotification, options.topics.notifications, 0);
}

Status IngestInputs::Open() {
  for (Input& input : inputs_) RETURN_IF_ERROR(OpenInput(&input));
  return OkStatus();
}

std::string IngestInputs::RowKey(const Input& input) const {
  const TopicPartition& at = input.follower->at();
  return Cat(at.topic, "/", at.partition, "/", partition_);
}

StatusOr<ReadPosition> IngestInputs::PositionOf(const Input& input) const {
  ReadPosition out{kFromStart, {}};
  const std::string key = RowKey(input);
  const Status walked =
      store_->database().ForEachOf(kPositionRow, "", [&](store::DatabaseRow row) -> Status {
        if (row.key != key) return OkStatus();
        ASSIGN_OR_RETURN(out, DecodePosition(row.body));
        return OkStatus();
      });
  RETURN_IF_ERROR(walked);
  return out;
}

Status IngestInputs::OpenInput(Input* input) {
  const int64_t now = clock_->MonotonicNs();
  if (input->follower->is_open() || now < input->retry_ns) return OkStatus();
  input->retry_ns = now + kRetryNs;
  ASSIGN_OR_RETURN(const ReadPosition position, PositionOf(*input));
  input->follower->Restart(position.offset, position.mark);
  const Status opened = input->follower->Open();
  return absl::IsNotFound(opened) ? OkStatus() : opened;  // the partition does not exist yet
}

Status IngestInputs::Poll(size_t input, Duration timeout, std::vector<Record>* records) {
  FollowedRecords read;
  const Status polled = control_->Poll(inputs_[input].follower.get(), timeout, &read);
  if (!read.replaced.ok()) {
    // Data from the old log is kept. Sequence numbers identify batches that are in both logs.
    PITWALL_LOG(kWarning, "insights", ToStd(read.replaced.message()));
  }
  if (!read.loss.ok()) {
    ++store_->counters().input_losses;
    PITWALL_LOG(kWarning, "insights", ToStd(read.loss.message()),
                ": the history has a gap at this point");
  }
  *records = std::move(read.records);
  return records->empty() ? polled : OkStatus();  // a lasting error recurs
}

bool IngestInputs::Buried(std::string_view job, size_t input, const Record& record) const {
  if (tombstones_.empty()) return false;
  const auto at = tombstones_.find(StableHashHex(job));
  return at != tombstones_.end() && at->second.Covers(input, record);
}

Tombstone IngestInputs::TombstoneNow() const {
  Tombstone tombstone;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!open(i)) continue;
    const TopicFollower& follower = *inputs_[i].follower;
    tombstone.inputs[i].end = follower.position();
    if (const AppendTime newest = follower.mark().append_time; newest != AppendTime())
      tombstone.inputs[i].newest_append_ns = newest.ns();
  }
  return tombstone;
}

void IngestInputs::NoteProgress() {
  if (!caught_up_ && inputs_[kTelemetry].follower->caught_up()) caught_up_ = true;
}

void IngestInputs::MeasureLag() {
  if (!open(kTelemetry)) return;
  TopicFollower& telemetry = *inputs_[kTelemetry].follower;
  const StatusOr<int64_t> end = telemetry.EndOffset();
  if (end.ok()) lag_ = std::max<int64_t>(0, *end - telemetry.position());
}

// Returns whether many telemetry records are unread. There are few event records, so during
// catch-up, a job's end is read long before its telemetry. If windows were sealed at that point,
// each later row would cause its window to be resealed.
bool IngestInputs::Behind() const { return !caught_up_ || lag_ > kFewRecords; }

int64_t IngestInputs::telemetry_offset() const {
  return open(kTelemetry) ? inputs_[kTelemetry].follower->position() : -1;
}

void IngestInputs::PutPositions(int64_t first_unsealed, store::DatabaseChange* change) const {
  for (const Input& input : inputs_) {
    const TopicFollower& follower = *input.follower;
    if (!follower.is_open() || follower.mark().offset < 0) continue;
    ReadPosition position{follower.position(), follower.mark()};
    if (&input == inputs_.data()) position.offset = std::min(position.offset, first_unsealed);
    change->put.push_back({kPositionRow, "", RowKey(input), EncodePosition(position)});
  }
}

}  // namespace pitwall::history
