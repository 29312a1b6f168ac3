#include "services/history/ingest/partition/record_reader.h"

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "services/codec/cloudevents/capture_event.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/codec/cloudevents/notification_event.h"

namespace pitwall::history {
namespace {

constexpr int64_t kRetryNs = kNanosPerSecond;

// Moves a decoded event into the change.
template <typename Event>
Status Fill(StatusOr<Event> event, Change::Topic topic, std::shared_ptr<const Event>* content,
            Change* change) {
  RETURN_IF_ERROR(event.status());
  change->topic = topic;
  change->job = event->job;
  change->time_ns = event->time.ns();
  *content = std::make_shared<const Event>(*std::move(event));
  return OkStatus();
}

Change::Topic TopicOf(EventType type) {
  if (type == EventType::kJobChanged) return Change::Topic::kJob;
  return type == EventType::kRuleStatus ? Change::Topic::kStatus : Change::Topic::kIssue;
}

// Decodes an event, and sets the change's topic, job, time, and content.
Status Decode(EventTopic topic, std::string_view value, Change* change) {
  switch (topic) {
    case EventTopic::kIssues: {
      RETURN_IF_ERROR(Fill(cloudevents::DecodeCloudEvent(value), Change::Topic::kIssue,
                           &change->event, change));
      change->topic = TopicOf(change->event->type);
      return OkStatus();
    }
    case EventTopic::kActions:
      // The topic also contains user requests, but these are not actions.
      return Fill(cloudevents::DecodeActionEvent(value), Change::Topic::kAction, &change->action,
                  change);
    case EventTopic::kNotification:
      return Fill(cloudevents::DecodeNotification(value), Change::Topic::kNotification,
                  &change->notification, change);
    default:
      return Fill(cloudevents::DecodeRankCapture(value), Change::Topic::kCapture, &change->capture,
                  change);
  }
}

}  // namespace

Status RecordReader::ReadTelemetry(Duration timeout, bool* idle) {
  if (!inputs_->open(IngestInputs::kTelemetry)) return OkStatus();
  std::vector<Record> records;
  RETURN_IF_ERROR(inputs_->Poll(IngestInputs::kTelemetry, timeout, &records));
  for (const Record& record : records) {
    if (!OnTelemetry(record)) return OkStatus();
  }
  CountRecords(records.size());
  if (!AnnounceSamples()) return OkStatus();
  *idle &= records.empty();
  inputs_->NoteProgress();
  return OkStatus();
}

bool RecordReader::OnTelemetry(const Record& record) {
  const StatusOr<codec::DecodedRecord> decoded = decoder_.Decode(record.value);
  if (!decoded.ok()) {
    ++store_->counters().undecodable;  // the processor sends the record to the dead-letter topic
    return true;
  }
  if (decoded->batch == nullptr) return true;
  const Batch& batch = *decoded->batch;
  if (inputs_->Buried(batch.job, IngestInputs::kTelemetry, record)) return true;
  const StoredJobPtr job = Loaded(batch.job);
  if (job == nullptr) return false;
  {
    MutexLock lock(&job->mutex());
    job->Ingest(batch, {record.offset, record.append_time.ns(), clock_->MonotonicNs()}, &counts_);
  }
  for (const SharedSchema& schema : batch.schemas)
    store_->segments().schemas().Renew(batch.job, schema);
  touched_.insert(batch.job);
  return true;
}

void RecordReader::CountRecords(size_t records) {
  StoreCounters& counters = store_->counters();
  counters.samples += counts_.samples;
  counters.duplicates += counts_.duplicates;
  counters.ahead += counts_.ahead;
  counters.unread += counts_.unread;
  counters.after_raw += counts_.after_raw;
  counts_ = {};
  // This counter is updated last, so that an observer of the count sees all data from the counted
  // records.
  counters.records += records;
}

bool RecordReader::AnnounceSamples() {
  for (const std::string& id : touched_) {
    const StoredJobPtr job = Loaded(id);
    if (job == nullptr) return false;
    Change change;
    change.topic = Change::Topic::kSamples;
    change.job = id;
    change.time_ns = job->telemetry().newest_ns();
    store_->feed().Add(std::move(change));
  }
  touched_.clear();
  return true;
}

StoredJobPtr RecordReader::Loaded(const std::string& id) {
  while (true) {
    StatusOr<StoredJobPtr> job = store_->FindOrAdd(id);
    if (job.ok()) return *std::move(job);
    control_->SetHealth(job.status());
    if (control_->stopping()) return nullptr;
    control_->Wait(kRetryNs);
  }
}

Status RecordReader::ReadEvents(bool* idle) {
  for (size_t input = 0; input < IngestInputs::kCount; ++input) {
    if (input == IngestInputs::kTelemetry || !inputs_->open(input)) continue;
    std::vector<Record> records;
    RETURN_IF_ERROR(inputs_->Poll(input, Duration::Zero(), &records));
    for (const Record& record : records) OnEvent(input, record);
    *idle &= records.empty();
  }
  return OkStatus();
}

void RecordReader::OnEvent(size_t input, const Record& record) {
  Change change;
  const EventTopic topic = inputs_->topic(input);
  if (!Decode(topic, record.value, &change).ok()) {
    ++store_->counters().undecodable;
    return;
  }
  if (!jobs_->Owns(change.job)) return;
  if (inputs_->Buried(change.job, input, record)) return;
  const StoredJobPtr job = Loaded(change.job);
  if (job == nullptr) return;
  {
    MutexLock lock(&job->mutex());
    if (change.event != nullptr) job->OnEvent(*change.event);
    job->AddRecord({topic, store_->NextRecord(), record.value});
  }
  ++store_->counters().events;
  change.record_bytes = record.value.size();
  store_->feed().Add(std::move(change));
}

}  // namespace pitwall::history
