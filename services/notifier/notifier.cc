#include "services/notifier/notifier.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <utility>

#include "services/base/log.h"
#include "services/base/mutex.h"
#include "services/base/system/worker.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/io/log_reset_notice.h"
#include "services/io/topic_follower.h"
#include "services/notifier/delivery/receiver_worker.h"
#include "services/notifier/feed/issue_actions.h"
#include "services/notifier/feed/issue_index.h"
#include "services/notifier/feed/issue_metrics.h"
#include "services/notifier/feed/issue_watch.h"
#include "services/notifier/feed/recent_events.h"
#include "services/notifier/feed/resume_token.h"
#include "services/self_metrics/instruments.h"
#include "services/self_metrics/probe.h"

namespace pitwall::notifier {
namespace {

constexpr size_t kPollRecords = 1'000;
constexpr Duration kPoll = Duration::Seconds(1);
constexpr int64_t kStoreIntervalNs = 5 * kNanosPerSecond;
constexpr int32_t kDefaultPageSize = 100;
constexpr int32_t kMaxPageSize = 1'000;

class TopicNotifier final : public Notifier {
 public:
  TopicNotifier(Clock* clock, Log* log, Transports transports, NotifierOptions options,
                int32_t partitions, self_metrics::Exposition* exposition)
      : clock_(clock),
        log_(log),
        options_(std::move(options)),
        partitions_(partitions),
        window_(partitions, options_.window_events, options_.window_bytes),
        index_({options_.max_open_issues, options_.max_ended_issues, options_.ended_age_ns,
                options_.open_age_ns, options_.max_events_per_issue, options_.max_issue_events}),
        acted_(clock, log, options_.actions_topic, options_.max_acts),
        silences_(clock, log, options_.silences_topic),
        watchers_(std::make_shared<std::atomic<size_t>>(0)),
        probe_(exposition) {
    for (const ReceiverOptions& receiver : options_.receivers) {
      deliveries_.push_back(std::make_unique<ReceiverWorker>(
          clock, log, ReceiverSources{&window_, &silences_, &acted_, &index_}, transports,
          options_.topic, options_.history_records, options_.max_open_issues, receiver,
          exposition));
    }
    AddMetrics();
  }

  ~TopicNotifier() override { Stop(); }

  Status Start() override {
    if (!tails_.empty()) return FailedPrecondition("the notifier is already started");
    Positions ends, starts;
    for (int32_t p = 0; p < partitions_; ++p) {
      auto tail = std::make_unique<Tail>(clock_, log_, TopicPartition{options_.topic, p},
                                         std::max<int64_t>(0, options_.history_records));
      RETURN_IF_ERROR(tail->follower.Open());
      ASSIGN_OR_RETURN(const int64_t start, tail->follower.StartOffset());
      const int64_t from = tail->follower.position();
      ends.push_back(std::max(from, tail->follower.end_at_open()));
      starts.push_back(start);
      window_.Begin(p, from);
      tail->stored = from;
      tail->ready = tail->follower.caught_up();
      tails_.push_back(std::move(tail));
    }
    if (!deliveries_.empty()) RETURN_IF_ERROR(acted_.ReadAll());
    // The notifier can run without silences; it just sends more notifications.
    if (const Status opened = silences_.Open(); !opened.ok())
      PITWALL_LOG(kError, "notifier", "silences are disabled: ", options_.silences_topic, ": ",
                  ToStd(opened.message()));
    for (size_t i = 0; i < deliveries_.size(); ++i) {
      RETURN_IF_ERROR(
          deliveries_[i]->Open(options_.receivers[i].delivery.from_start ? starts : ends));
    }
    for (const auto& tail : tails_) {
      tail->worker.Start([this, t = tail.get()] { Follow(t); });
    }
    for (const auto& delivery : deliveries_) delivery->Start();
    return OkStatus();
  }

  void Stop() override {
    stop_ = true;
    window_.Close();
    for (const auto& delivery : deliveries_) delivery->Stop();
    for (const auto& tail : tails_) tail->worker.Stop();
  }

  bool Ready() const override {
    return !tails_.empty() && !stop_ &&
           std::all_of(tails_.begin(), tails_.end(),
                       [](const auto& tail) { return tail->ready.load(); });
  }

  Status Health() const override {
    for (const auto& tail : tails_) {
      RETURN_IF_ERROR(tail->worker.Health());
      MutexLock lock(&tail->mutex);
      RETURN_IF_ERROR(tail->notice.Read(clock_->Monotonic()));
    }
    for (const auto& delivery : deliveries_) RETURN_IF_ERROR(delivery->Health());
    return OkStatus();
  }

  StatusOr<IssuePage> ListIssues(const IssueQuery& query) override {
    RETURN_IF_ERROR(CheckReady());
    if (query.page_size < 0 || query.page_size > kMaxPageSize) {
      return InvalidArgument(
          Cat("page_size ", query.page_size, ": must be between 0 and ", kMaxPageSize));
    }
    PageCursor cursor;
    if (!query.page_token.empty()) {
      ASSIGN_OR_RETURN(cursor, DecodePageToken(query.page_token));
    } else {
      // The token is created before the index is read, so resuming from the token delivers every
      // event that the list does not include.
      cursor.resume_token = EncodeResumeToken(options_.topic, window_.Next());
    }
    const int32_t size = query.page_size == 0 ? kDefaultPageSize : query.page_size;
    IssuePage page;
    bool more = false;
    page.issues =
        index_.List(query.filter, query.include_ended, query.page_token.empty() ? nullptr : &cursor,
                    static_cast<size_t>(size), &more);
    page.resume_token = cursor.resume_token;
    for (const IssueEventPtr& issue : page.issues) {
      if (auto silenced = SilencedBy(silences_.set(), *issue, clock_->WallNs()))
        page.silenced.push_back(*std::move(silenced));
    }
    if (more) {
      const IssueEvent& last = *page.issues.back();
      page.next_page_token =
          EncodePageToken({last.active_since.ns(), IssueId(last), cursor.resume_token});
    }
    return page;
  }

  StatusOr<std::vector<IssueEventPtr>> GetIssue(std::string_view id) override {
    RETURN_IF_ERROR(CheckReady());
    if (id.empty()) return InvalidArgument("id: must not be empty");
    return index_.Find(id);
  }

  StatusOr<std::unique_ptr<IssueWatch>> WatchIssues(const WatchQuery& query) override {
    RETURN_IF_ERROR(CheckReady());
    Positions positions = window_.Next();
    Positions until = query.until_now ? positions : Positions();
    if (!query.resume_token.empty()) {
      if (query.from_start)
        return InvalidArgument("from_start: must not be set with a resume_token");
      ASSIGN_OR_RETURN(positions,
                       DecodeResumeToken(options_.topic, partitions_, query.resume_token));
      RETURN_IF_ERROR(CheckPositions(positions));
    } else if (query.from_start) {
      for (int32_t p = 0; p < partitions_; ++p) {
        ASSIGN_OR_RETURN(const auto reader, log_->OpenReader({options_.topic, p}, kFromStart));
        ASSIGN_OR_RETURN(positions[static_cast<size_t>(p)], reader->StartOffset());
      }
    }
    if (++*watchers_ > options_.max_watchers) {
      --*watchers_;
      return ResourceExhausted(Cat("too many watchers (limit ", options_.max_watchers, ")"));
    }
    return std::make_unique<LogWatch>(clock_, log_, &window_, options_.topic, query.filter,
                                      std::move(positions), std::move(until), watchers_);
  }

  std::string RenderIssueMetrics() const override { return issue_exposition_.Render(); }

  SilenceTable* Silences() override { return &silences_; }

  std::vector<ReceiverStatus> Receivers() const override {
    std::vector<ReceiverStatus> out;
    for (const auto& delivery : deliveries_) out.push_back(delivery->status());
    return out;
  }

 private:
  struct Tail {
    Tail(Clock* clock, Log* log, TopicPartition at, int64_t history_records)
        : follower(clock, log, at,
                   {.last_offsets = history_records,
                    .resume = FollowerOptions::Resume::kAfterNewest,
                    .max_records = kPollRecords,
                    .check_interval = Duration::Zero()}),
          worker(clock, "issues", at.partition) {
      worker.OnStop([this] { follower.Interrupt(); });
    }

    TopicFollower follower;
    int64_t stored = 0;
    int64_t stored_at_ns = 0;
    std::atomic<bool> ready{false};
    mutable Mutex mutex;
    LogResetNotice notice ABSL_GUARDED_BY(mutex);
    Worker worker;
  };

  void AddMetrics() {
    using self_metrics::Sample;
    probe_.ListGauges("pitwall_issues_open", "Open issues.",
                      [this](std::vector<Sample>* out) { ListOpenCounts(index_, out); });
    probe_.Add("pitwall_notifier_events_total", "Events read from the topic.", &events_);
    probe_.Add("pitwall_notifier_undecodable_total", "Topic records that could not be decoded.",
               &undecodable_);
    probe_.Add("pitwall_notifier_gaps_total",
               "Number of times records were deleted before they were read.", &gaps_);
    probe_.Add("pitwall_notifier_log_resets_total",
               "Number of times a partition's log was replaced.", &log_resets_);
    probe_.AddCounter("pitwall_notifier_issues_forgotten_total",
                      "Open issues dropped from the index because of its limits.",
                      [this] { return index_.stats().open_forgotten; });
    probe_.AddGauge("pitwall_notifier_watchers", "Connected watchers.",
                    [this] { return watchers_->load(); });
    issue_probe_.ListGauges("pitwall_issue", "An open issue.", [this](std::vector<Sample>* out) {
      bool truncated = false;
      ListIssueSamples(index_, options_.max_issue_samples, &truncated, out);
      issues_truncated_.Set(truncated ? 1 : 0);
    });
    issue_probe_.Add("pitwall_issues_truncated", "1 if more issues are open than this page shows.",
                     &issues_truncated_);
  }

  Status CheckReady() const {
    if (stop_) return Unavailable("the notifier is stopping");
    if (!Ready()) return Unavailable("the issue history is still being loaded");
    return OkStatus();
  }

  // A log reader is opened only for positions outside the window.
  Status CheckPositions(const Positions& positions) {
    const Positions next = window_.Next();
    for (size_t i = 0; i < positions.size(); ++i) {
      const auto p = static_cast<int32_t>(i);
      if (positions[i] >= window_.FirstOffset(p) && positions[i] <= next[i]) continue;
      ASSIGN_OR_RETURN(const auto reader, log_->OpenReader({options_.topic, p}, positions[i]));
      ASSIGN_OR_RETURN(const int64_t start, reader->StartOffset());
      ASSIGN_OR_RETURN(const int64_t end, reader->EndOffset());
      if (positions[i] < start) {
        return OutOfRange(Cat("resume_token: is older than the topic, which begins at offset ",
                              start, " of partition ", p, "; list, then watch again"));
      }
      if (positions[i] > std::max(end, next[i])) {
        return InvalidArgument(
            Cat("resume_token: is ahead of partition ", p, ", so it belongs to another log"));
      }
    }
    return OkStatus();
  }

  void Follow(Tail* tail) {
    while (!tail->worker.stopping()) {
      FollowedRecords read;
      const Status polled = tail->follower.Poll(kPoll, &read);
      Take(tail, read);
      tail->worker.SetHealth(
          Annotate(polled, Cat(options_.topic, "/", tail->follower.at().partition)));
      if (!polled.ok()) {
        PITWALL_LOG(kWarning, "notifier", ToStd(polled.message()));
        tail->worker.Wait(kNanosPerSecond);
      }
      StorePosition(tail, false);
      // The thread of partition 0 also reads actions and silences.
      if (tail->follower.at().partition == 0) ReadActionsAndSilences();
    }
    StorePosition(tail, true);
  }

  void Take(Tail* tail, const FollowedRecords& read) {
    const TopicPartition& at = tail->follower.at();
    if (!read.replaced.ok()) OnReplacedLog(tail, read.replaced);
    if (!read.loss.ok()) {
      gaps_.Add();
      PITWALL_LOG(kError, "notifier", ToStd(read.loss.message()));
    }
    std::vector<FeedItem> items;
    for (const Record& record : read.records) {
      StatusOr<IssueEvent> event = cloudevents::DecodeCloudEvent(record.value);
      if (!event.ok()) {
        undecodable_.Add();
        PITWALL_LOG(kWarning, "notifier", at.topic, "/", at.partition, " offset ", record.offset,
                    ": ", ToStd(event.status().message()));
        continue;
      }
      events_.Add();
      items.push_back({at.partition, record.offset,
                       std::make_shared<const IssueEvent>(*std::move(event)), record.value.size(),
                       record.append_time});
      index_.Apply(items.back().event);
    }
    // Update the index first so that it contains every event before the window's position.
    window_.Add(at.partition, std::move(items), tail->follower.position());
    if (tail->follower.caught_up()) tail->ready = true;
  }

  // All followers are notified. The index keeps its issues, and the new log repeats the open
  // issues.
  void OnReplacedLog(Tail* tail, const Status& why) {
    window_.Restart(tail->follower.at().partition, tail->follower.position());
    log_resets_.Add();
    std::string text(ToStd(why.message()));
    PITWALL_LOG(kError, "notifier", text);
    MutexLock lock(&tail->mutex);
    tail->notice.Set(std::move(text), clock_->Monotonic());
  }

  void ReadActionsAndSilences() {
    if (const Status read = silences_.ReadNew(); !read.ok())
      PITWALL_LOG(kWarning, "notifier", options_.silences_topic, ": ", ToStd(read.message()));
    if (deliveries_.empty()) return;
    if (const Status read = acted_.ReadNew(); !read.ok())
      PITWALL_LOG(kWarning, "notifier", options_.actions_topic, ": ", ToStd(read.message()));
  }

  // Stores the position only for lag monitoring. The index is rebuilt at each start.
  void StorePosition(Tail* tail, bool now) {
    const int64_t position = tail->follower.position();
    const int64_t time = clock_->MonotonicNs();
    if (position == tail->stored || (!now && time - tail->stored_at_ns < kStoreIntervalNs)) return;
    tail->stored_at_ns = time;
    if (log_->StorePosition(options_.group, tail->follower.at(), {position, ""}).ok())
      tail->stored = position;
  }

  Clock* const clock_;
  Log* const log_;
  const NotifierOptions options_;
  const int32_t partitions_;
  RecentEvents window_;
  IssueIndex index_;
  IssueActions acted_;
  SilenceTable silences_;
  const std::shared_ptr<std::atomic<size_t>> watchers_;
  std::atomic<bool> stop_{false};
  self_metrics::SharedCounter events_, undecodable_, gaps_, log_resets_;
  mutable self_metrics::Gauge issues_truncated_;
  std::vector<std::unique_ptr<ReceiverWorker>> deliveries_;
  std::vector<std::unique_ptr<Tail>> tails_;
  self_metrics::Probe probe_;
  self_metrics::Exposition issue_exposition_;  // text of /metrics/issues
  self_metrics::Probe issue_probe_{&issue_exposition_};
};

// Renders a call for a sample event and checks that the transport accepts the call.
Status CheckWay(const Receiver& receiver, const Transports& transports) {
  IssueEvent event;
  event.id = "0";
  event.job = "job";
  ASSIGN_OR_RETURN(const Call call, receiver.Render({.event = &event}));
  if (const auto* const http = std::get_if<HttpCall>(&call)) {
    if (transports.http == nullptr) return InvalidArgument("an HTTP receiver needs a transport");
    return transports.http->CheckUrl(http->url);
  }
  if (transports.mail == nullptr) return InvalidArgument("a mail receiver needs a transport");
  return transports.mail->CheckServer(std::get<MailCall>(call).server);
}

}  // namespace

StatusOr<std::unique_ptr<Notifier>> Notifier::Make(Clock* clock, Log* log, Transports transports,
                                                   NotifierOptions options,
                                                   self_metrics::Exposition* exposition) {
  std::set<std::string> names;
  for (const ReceiverOptions& options_of_one : options.receivers) {
    RETURN_IF_ERROR(CheckReceiver(options_of_one));
    const std::string& name = options_of_one.delivery.name;
    if (!names.insert(name).second) return InvalidArgument(Cat("receivers: duplicate name ", name));
    RETURN_IF_ERROR(Annotate(CheckWay(*options_of_one.receiver, transports),
                             Cat(options_of_one.receiver->kind(), " ", name)));
  }
  ASSIGN_OR_RETURN(const int32_t partitions, log->Partitions(options.topic));
  return std::make_unique<TopicNotifier>(clock, log, transports, std::move(options), partitions,
                                         exposition);
}

}  // namespace pitwall::notifier
