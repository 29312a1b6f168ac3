#include "services/history/api/change_stream.h"

#include <algorithm>
#include <array>
#include <utility>

#include "services/base/text/strings.h"
#include "services/codec/cloudevents/capture_event.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/codec/cloudevents/notification_event.h"
#include "services/history/api/answers.h"
#include "services/history/api/json_fields.h"

namespace pitwall::history {
namespace {

// Maximum number of changes read from the history at a time.
constexpr size_t kBatch = 256;
constexpr size_t kMaxJobs = 1000;

}  // namespace

ChangeStream::ChangeStream(const History* history, const Clock* clock, ChangeFilter filter,
                           uint64_t place)
    : history_(history), clock_(clock), filter_(std::move(filter)), place_(place) {}

bool ChangeStream::Wants(const Change& change) const {
  return (filter_.topics.empty() || filter_.topics.contains(change.topic)) &&
         (filter_.jobs.empty() || filter_.jobs.contains(change.job));
}

std::string ChangeStream::Pull() {
  const int64_t now_ns = clock_->MonotonicNs();
  std::string out;
  if (!greeted_) {
    greeted_ = true;
    samples_sent_ns_ = now_ns;
    out = "retry: 2000\n";
    WritePlace(&out);
  }
  while (out.size() < kMaxBytes && place_ != history_->newest_place()) {
    const StatusOr<std::vector<Change>> changes = history_->ChangesAfter(place_, kBatch);
    if (!changes.ok()) {
      samples_.clear();
      place_ = history_->newest_place();
      CatTo(out, "id: ", place_, "\nevent: resync\ndata: {}\n\n");
      break;
    }
    if (changes->empty()) break;
    for (const Change& change : *changes) {
      place_ = change.place;
      if (Wants(change)) Take(change, &out);
      if (out.size() >= kMaxBytes) break;
    }
  }
  if (now_ns - samples_sent_ns_ >= kSamplesEveryNs) {
    samples_sent_ns_ = now_ns;
    FlushSamples(&out);
  }
  if (out.empty() && now_ns - last_sent_ns_ >= kHeartbeatNs) {
    out = ": still here\n";
    if (samples_.empty()) WritePlace(&out);
  }
  if (!out.empty()) last_sent_ns_ = now_ns;
  return out;
}

std::string ChangeStream::Farewell() { return "event: bye\ndata: {}\n\n"; }

void ChangeStream::Take(const Change& change, std::string* out) {
  if (change.topic == Change::Topic::kSamples) {
    samples_[change.job] = change;
    return;
  }
  FlushSamples(out);  // IDs must increase
  Write(change, out);
}

void ChangeStream::FlushSamples(std::string* out) {
  std::vector<const Change*> sorted;
  for (const auto& [job, change] : samples_) sorted.push_back(&change);
  std::sort(sorted.begin(), sorted.end(),
            [](const Change* a, const Change* b) { return a->place < b->place; });
  for (const Change* change : sorted) Write(*change, out);
  samples_.clear();
}

void ChangeStream::WritePlace(std::string* out) const { CatTo(*out, "id: ", place_, "\n\n"); }

void ChangeStream::Write(const Change& change, std::string* out) const {
  JsonWriter data;
  data.BeginObject();
  TextField("job", change.job, &data);
  NsField("time_ns", change.time_ns, &data);
  data.Key("event");
  if (change.event != nullptr) {
    data.Raw(cloudevents::EncodeCloudEvent(*change.event));
  } else if (change.action != nullptr) {
    data.Raw(cloudevents::EncodeCloudEvent(*change.action));
  } else if (change.capture != nullptr) {
    data.Raw(cloudevents::EncodeRankCapture(*change.capture));
  } else if (change.notification != nullptr) {
    data.Raw(cloudevents::EncodeNotification(*change.notification));
  } else {
    data.Null();
  }
  data.EndObject();
  // JSON text contains no raw line breaks.
  CatTo(*out, "id: ", change.place, "\nevent: ", kTopicNames[static_cast<size_t>(change.topic)],
        "\ndata: ", data.Take(), "\n\n");
}

Answer AnswerStream(const ApiCall& call) {
  Parameters& in = call.parameters;
  ChangeFilter filter;
  for (const std::string_view job : Split(in.Text("jobs"), ',')) {
    if (job.empty()) continue;
    // A job may appear in lists before its first data arrives.
    filter.jobs.emplace(job);
    if (filter.jobs.size() > kMaxJobs) {
      return InvalidArgument(
          Cat("jobs: at most ", kMaxJobs, " IDs are allowed; omit the parameter to get all jobs"));
    }
  }
  for (const std::string_view topic : Split(in.Text("topics"), ',')) {
    if (topic.empty()) continue;
    const auto at = std::find(kTopicNames.begin(), kTopicNames.end(), topic);
    if (at == kTopicNames.end()) {
      return InvalidArgument(
          Cat("topics: must be one or more of job, samples, issue, status, action, capture, "
              "notification (got ",
              Quote(topic.substr(0, 80)), ")"));
    }
    filter.topics.insert(static_cast<Change::Topic>(at - kTopicNames.begin()));
  }
  // A reconnecting browser sends its position in the Last-Event-ID header.
  std::string_view after = call.request.Header("last-event-id");
  if (after.empty()) after = in.Text("last_event_id");
  uint64_t place = call.history().newest_place();
  if (!after.empty()) {
    const std::optional<int64_t> given = ParseInt(after);
    if (!given || *given < 0) {
      return InvalidArgument(Cat("last_event_id: must be the ID of an event in this stream (got ",
                                 Quote(after.substr(0, 80)), ")"));
    }
    place = static_cast<uint64_t>(*given);
  }
  http::HttpResponse response;
  response.content_type = "text/event-stream";
  response.headers = {{"Cache-Control", "no-store, no-transform"}, {"X-Accel-Buffering", "no"}};
  response.stream = std::make_shared<ChangeStream>(call.options.history, call.options.clock,
                                                   std::move(filter), place);
  return response;
}

}  // namespace pitwall::history
