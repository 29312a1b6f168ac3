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
  inputs_[kTelemetry].at = {options.topics.telemetry, partition};
  inputs_[1].at = {options.topics.issues, partition};
  inputs_[1].topic = EventTopic::kIssues;
  inputs_[2].at = {options.topics.actions, partition};
  inputs_[2].topic = EventTopic::kActions;
  // One partition contains the capture replies of all jobs. Each thread ingests only the replies
  // for its own jobs.
  inputs_[3].at = {options.topics.captures, 0};
  inputs_[3].topic = EventTopic::kCaptures;
  inputs_[4].at = {options.topics.notifications, 0};
  inputs_[4].topic = EventTopic::kNotification;
}

Status IngestInputs::Open() {
  for (Input& input : inputs_) RETURN_IF_ERROR(OpenInput(&input));
  return OkStatus();
}

std::string IngestInputs::RowKey(const Input& input) const {
  return Cat(input.at.topic, "/", input.at.partition, "/", partition_);
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
  if (input->reader != nullptr || now < input->retry_ns) return OkStatus();
  input->retry_ns = now + kRetryNs;
  const StatusOr<int32_t> count = log_->Partitions(input->at.topic);
  if (absl::IsNotFound(count.status())) return OkStatus();  // the topic does not exist yet
  RETURN_IF_ERROR(count.status());
  if (input->at.partition >= *count) return OkStatus();
  ASSIGN_OR_RETURN(ReadPosition position, PositionOf(*input));
  if (position.offset >= 0) {
    const Status same = CheckLogMark(log_, input->at, position.offset, position.mark);
    if (absl::IsFailedPrecondition(same)) {
      // Data from the old log is kept. Sequence numbers identify batches that are in both logs.
      PITWALL_LOG(kWarning, "insights", ToStd(same.message()), "; reading the log from the start");
      position = {kFromStart, {}};
    } else {
      RETURN_IF_ERROR(same);
    }
  }
  ASSIGN_OR_RETURN(input->reader, log_->OpenReader(input->at, position.offset));
  input->mark = position.mark;
  if (input == inputs_.data()) {
    ASSIGN_OR_RETURN(begin_end_, input->reader->EndOffset());
  }
  return OkStatus();
}

Status IngestInputs::Poll(size_t input, Duration timeout, std::vector<Record>* records) {
  const Status polled =
      control_->Poll(inputs_[input].reader.get(), kPollRecords, kPollBytes, timeout, records);
  if (!absl::IsDataLoss(polled)) return polled;
  ++store_->counters().input_losses;
  PITWALL_LOG(kWarning, "insights", ToStd(polled.message()),
              ": the history has a gap at this point");
  return OkStatus();
}

bool IngestInputs::Buried(std::string_view job, size_t input, int64_t offset) const {
  if (tombstones_.empty()) return false;
  const auto at = tombstones_.find(StableHashHex(job));
  if (at == tombstones_.end()) return false;
  const Tombstone& t = at->second;
  return offset < std::array{t.telemetry, t.issues, t.actions, t.captures, t.notifications}[input];
}

Tombstone IngestInputs::TombstoneNow() const {
  Tombstone tombstone;
  int64_t* const offsets[] = {&tombstone.telemetry, &tombstone.issues, &tombstone.actions,
                              &tombstone.captures, &tombstone.notifications};
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].reader != nullptr) *offsets[i] = inputs_[i].reader->position();
  }
  return tombstone;
}

void IngestInputs::NoteProgress() {
  if (!caught_up_ && inputs_[kTelemetry].reader->position() >= begin_end_) caught_up_ = true;
}

void IngestInputs::MeasureLag() {
  PartitionReader* const reader = inputs_[kTelemetry].reader.get();
  if (reader == nullptr) return;
  const StatusOr<int64_t> end = reader->EndOffset();
  if (end.ok()) lag_ = std::max<int64_t>(0, *end - reader->position());
}

// Returns whether many telemetry records are unread. There are few event records, so during
// catch-up, a job's end is read long before its telemetry. If windows were sealed at that point,
// each later row would cause its window to be resealed.
bool IngestInputs::Behind() const { return !caught_up_ || lag_ > kFewRecords; }

int64_t IngestInputs::telemetry_offset() const {
  return open(kTelemetry) ? inputs_[kTelemetry].reader->position() : -1;
}

void IngestInputs::PutPositions(int64_t first_unsealed, store::DatabaseChange* change) const {
  for (const Input& input : inputs_) {
    if (input.reader == nullptr || input.mark.offset < 0) continue;
    ReadPosition position{input.reader->position(), input.mark};
    if (&input == inputs_.data()) position.offset = std::min(position.offset, first_unsealed);
    change->put.push_back({kPositionRow, "", RowKey(input), EncodePosition(position)});
  }
}

}  // namespace pitwall::history
