#include "services/history/ingest/partition_ingest.h"

#include <algorithm>

#include "services/base/log.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/capture_event.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/codec/cloudevents/notification_event.h"

namespace pitwall::history {
namespace {

constexpr size_t kPollRecords = 500;
constexpr size_t kPollBytes = size_t{8} << 20;
constexpr int64_t kPollNs = 20 * kNanosPerMilli;
constexpr int64_t kRetryNs = kNanosPerSecond;
// Maximum number of unsaved events. Reading pauses above this limit.
constexpr size_t kMaxUnsaved = 10'000;

}  // namespace

PartitionIngest::PartitionIngest(Clock* clock, Log* log, HistoryStore* store,
                                 const HistoryOptions* options, int32_t partition,
                                 int32_t partitions)
    : clock_(clock),
      log_(log),
      store_(store),
      options_(*options),
      partition_(partition),
      partitions_(partitions),
      wakeup_(clock->NewWakeup()) {
  inputs_[0].at = {options_.telemetry_topic, partition};
  inputs_[1].at = {options_.issues_topic, partition};
  inputs_[1].topic = EventTopic::kIssues;
  inputs_[2].at = {options_.actions_topic, partition};
  inputs_[2].topic = EventTopic::kActions;
  // One partition contains the capture replies of all jobs. Each thread ingests only the replies
  // for its own jobs.
  inputs_[3].at = {options_.captures_topic, 0};
  inputs_[3].topic = EventTopic::kCaptures;
  inputs_[4].at = {options_.notifications_topic, 0};
  inputs_[4].topic = EventTopic::kNotification;
}

PartitionIngest::~PartitionIngest() { Stop(); }

void PartitionIngest::Start() {
  {
    MutexLock lock(&mutex_);
    running_ = true;
  }
  tombstones_ = store_->Tombstones();
  thread_ = std::thread([this] { Loop(); });
}

void PartitionIngest::RequestStop() {
  stop_ = true;
  wakeup_->Wake();
  MutexLock lock(&mutex_);
  if (polled_ != nullptr) polled_->Interrupt();
}

void PartitionIngest::Stop() {
  if (!thread_.joinable()) return;
  RequestStop();
  thread_.join();
}

Status PartitionIngest::Health() const {
  MutexLock lock(&mutex_);
  return health_.ok() ? damage_ : health_;
}

void PartitionIngest::SetHealth(const Status& status) {
  MutexLock lock(&mutex_);
  if (!status.ok() && status != health_)
    PITWALL_LOG(kError, "insights", "partition ", partition_, ": ", ToStd(status.message()));
  health_ = status;
}

bool PartitionIngest::Owns(const StoredJob& job) const {
  return PartitionOf(job.id(), partitions_) == partition_;
}

size_t PartitionIngest::MemoryShare() const {
  const auto owned =
      (partitions_ - options_.share_index + options_.share_count - 1) / options_.share_count;
  return options_.head_bytes() / static_cast<size_t>(owned);
}

Status PartitionIngest::Do(std::function<Status()> work) {
  auto item = std::make_shared<Work>();
  item->run = std::move(work);
  item->done = clock_->NewWakeup();
  {
    MutexLock lock(&mutex_);
    if (!running_) return Unavailable("the history is not running");
    work_.push_back(item);
    if (polled_ != nullptr) polled_->Interrupt();
  }
  wakeup_->Wake();
  item->done->Wait(-1);
  return item->status;
}

void PartitionIngest::RunWork() {
  while (true) {
    std::shared_ptr<Work> item;
    {
      MutexLock lock(&mutex_);
      if (work_.empty()) return;
      item = work_.front();
      work_.pop_front();
    }
    item->status = item->run();
    item->done->Wake();
  }
}

void PartitionIngest::Loop() {
  while (!stop_) {
    RunWork();
    const Status status = Step();
    SetHealth(status);
    if (!status.ok() && !stop_) wakeup_->Wait(kRetryNs);
  }
  if (const Status status = SaveAtStop(); !status.ok()) {
    PITWALL_LOG(kWarning, "insights", "partition ", partition_,
                ": rows in memory were not sealed (", ToStd(status.message()),
                "); the next start reads them from the log");
  }
  {
    MutexLock lock(&mutex_);
    running_ = false;
  }
  RunWork();
}

StatusOr<ReadPosition> PartitionIngest::PositionOf(const Input& input) const {
  ReadPosition out{kFromStart, {}};
  const std::string key = Cat(input.at.topic, "/", input.at.partition, "/", partition_);
  const Status walked =
      store_->database().ForEachOf(kPositionRow, "", [&](store::DatabaseRow row) -> Status {
        if (row.key != key) return OkStatus();
        ASSIGN_OR_RETURN(out, DecodePosition(row.body));
        return OkStatus();
      });
  RETURN_IF_ERROR(walked);
  return out;
}

Status PartitionIngest::OpenInput(Input* input) {
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

Status PartitionIngest::Poll(Input* input, int64_t timeout_ns, std::vector<Record>* records) {
  {
    MutexLock lock(&mutex_);
    if (!work_.empty()) timeout_ns = 0;
    polled_ = input->reader.get();
  }
  if (stop_) timeout_ns = 0;
  const Status polled = input->reader->Poll(kPollRecords, kPollBytes, timeout_ns, records);
  {
    MutexLock lock(&mutex_);
    polled_ = nullptr;
  }
  if (!absl::IsDataLoss(polled)) return polled;
  ++store_->counters().input_losses;
  PITWALL_LOG(kWarning, "insights", ToStd(polled.message()),
              ": the history has a gap at this point");
  return OkStatus();
}

bool PartitionIngest::Buried(std::string_view job, size_t input, int64_t offset) const {
  if (tombstones_.empty()) return false;
  const auto at = tombstones_.find(StableHashHex(job));
  if (at == tombstones_.end()) return false;
  const Tombstone& t = at->second;
  return offset < std::array{t.telemetry, t.issues, t.actions, t.captures, t.notifications}[input];
}

Status PartitionIngest::ReadTelemetry(int64_t timeout_ns, bool* idle) {
  Input& input = inputs_[0];
  if (input.reader == nullptr) return OkStatus();
  std::vector<Record> records;
  RETURN_IF_ERROR(Poll(&input, timeout_ns, &records));
  StoreCounters& counters = store_->counters();
  for (const Record& record : records) {
    input.mark = {record.offset, record.append_time_ns};
    const StatusOr<codec::DecodedRecord> decoded = decoder_.Decode(record.value);
    if (!decoded.ok()) {
      ++counters.undecodable;  // the processor sends the record to the dead-letter topic
      continue;
    }
    if (decoded->batch == nullptr) continue;
    const Batch& batch = *decoded->batch;
    if (Buried(batch.job, 0, record.offset)) continue;
    const StoredJobPtr job = Loaded(batch.job);
    if (job == nullptr) return OkStatus();  // the thread is stopping
    {
      MutexLock lock(&job->mutex());
      job->Ingest(batch, {record.offset, record.append_time_ns, clock_->MonotonicNs()}, &counts_);
    }
    for (const SharedSchema& schema : batch.schemas)
      store_->segments().schemas().Renew(batch.job, schema);
    touched_.insert(batch.job);
  }
  counters.samples += counts_.samples;
  counters.duplicates += counts_.duplicates;
  counters.ahead += counts_.ahead;
  counters.unread += counts_.unread;
  counters.after_raw += counts_.after_raw;
  counts_ = {};
  // This counter is updated last, so that an observer of the count sees all data from the counted
  // records.
  counters.records += records.size();
  for (const std::string& id : touched_) {
    const StoredJobPtr job = Loaded(id);
    if (job == nullptr) return OkStatus();
    Change change;
    change.topic = Change::Topic::kSamples;
    change.job = id;
    change.time_ns = job->telemetry().newest_ns();
    store_->feed().Add(std::move(change));
  }
  touched_.clear();
  *idle &= records.empty();
  if (!caught_up_ && input.reader->position() >= begin_end_) caught_up_ = true;
  return OkStatus();
}

StoredJobPtr PartitionIngest::Loaded(const std::string& id) {
  while (true) {
    StatusOr<StoredJobPtr> job = store_->FindOrAdd(id);
    if (job.ok()) return *std::move(job);
    SetHealth(job.status());
    if (stop_) return nullptr;
    wakeup_->Wait(kRetryNs);
  }
}

void PartitionIngest::UnloadUnused() {
  const int64_t now = clock_->MonotonicNs();
  if (now - unloaded_ns_ < options_.unload_after_ns) return;
  unloaded_ns_ = now;
  const JobList jobs = Jobs();
  for (const StoredJobPtr& job : *jobs) {
    if (store_->UnloadUnused(job)) hints_.erase(job->id());
  }
}

void PartitionIngest::OnRecord(const Input& input, const Record& record) {
  Change change;
  std::string job_id;
  Status status;
  if (input.topic == EventTopic::kIssues) {
    StatusOr<IssueEvent> event = cloudevents::DecodeCloudEvent(record.value);
    status = event.status();
    if (event.ok()) {
      change.topic = event->type == EventType::kJobChanged   ? Change::Topic::kJob
                     : event->type == EventType::kRuleStatus ? Change::Topic::kStatus
                                                             : Change::Topic::kIssue;
      job_id = event->job;
      change.time_ns = event->time_ns;
      change.event = std::make_shared<const IssueEvent>(*std::move(event));
    }
  } else if (input.topic == EventTopic::kActions) {
    // The topic also contains requests from users, which are not actions.
    StatusOr<ActionEvent> action = cloudevents::DecodeActionEvent(record.value);
    status = action.status();
    if (action.ok()) {
      change.topic = Change::Topic::kAction;
      job_id = action->job;
      change.time_ns = action->time_ns;
      change.action = std::make_shared<const ActionEvent>(*std::move(action));
    }
  } else if (input.topic == EventTopic::kNotification) {
    StatusOr<NotificationRecord> notification = cloudevents::DecodeNotification(record.value);
    status = notification.status();
    if (notification.ok()) {
      change.topic = Change::Topic::kNotification;
      job_id = notification->job;
      change.time_ns = notification->time_ns;
      change.notification = std::make_shared<const NotificationRecord>(*std::move(notification));
    }
  } else {
    StatusOr<RankCapture> capture = cloudevents::DecodeRankCapture(record.value);
    status = capture.status();
    if (capture.ok()) {
      change.topic = Change::Topic::kCapture;
      job_id = capture->job;
      change.time_ns = capture->time_ns;
      change.capture = std::make_shared<const RankCapture>(*std::move(capture));
    }
  }
  if (!status.ok()) {
    ++store_->counters().undecodable;
    return;
  }
  if (PartitionOf(job_id, partitions_) != partition_) return;
  const auto index = static_cast<size_t>(&input - inputs_.data());
  if (Buried(job_id, index, record.offset)) return;
  const StoredJobPtr job = Loaded(job_id);
  if (job == nullptr) return;
  {
    MutexLock lock(&job->mutex());
    if (change.event != nullptr) job->OnEvent(*change.event);
    job->AddRecord({input.topic, store_->NextRecord(), record.value});
  }
  ++store_->counters().events;
  change.job = job_id;
  change.record_bytes = record.value.size();
  store_->feed().Add(std::move(change));
}

Status PartitionIngest::ReadEvents(Input* input, bool* idle) {
  if (input->reader == nullptr) return OkStatus();
  std::vector<Record> records;
  RETURN_IF_ERROR(Poll(input, 0, &records));
  for (const Record& record : records) {
    input->mark = {record.offset, record.append_time_ns};
    OnRecord(*input, record);
  }
  *idle &= records.empty();
  return OkStatus();
}

void PartitionIngest::NoteMemory() {
  size_t bytes = 0;
  const JobList jobs = Jobs();
  for (const StoredJobPtr& job : *jobs) bytes += job->telemetry().windows().head_bytes();
  head_bytes_ = bytes;
}

Status PartitionIngest::Step() {
  for (Input& input : inputs_) RETURN_IF_ERROR(OpenInput(&input));
  size_t unsaved = 0;
  const JobList jobs = Jobs();
  for (const StoredJobPtr& job : *jobs) unsaved += job->records().size();
  bool idle = true;
  if (unsaved < kMaxUnsaved) {
    for (size_t i = 1; i < inputs_.size(); ++i) RETURN_IF_ERROR(ReadEvents(&inputs_[i], &idle));
  }
  NoteMemory();
  // If sealing cannot reduce the memory below twice the share, reading pauses and the remaining
  // records stay in the log.
  const size_t share = MemoryShare();
  if (head_bytes_ < 2 * share) {
    RETURN_IF_ERROR(ReadTelemetry(idle ? kPollNs : 0, &idle));
  }
  if (inputs_[0].reader == nullptr && idle && !stop_) wakeup_->Wait(kPollNs);
  // Events are saved even if sealing failed.
  const Status sealed = SealDue();
  RETURN_IF_ERROR(SaveIfDue(false));
  UnloadUnused();
  return sealed;
}

}  // namespace pitwall::history
