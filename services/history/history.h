// Read interface to the history of all jobs, for the page, the API, the command line, and
// Prometheus queries. A storage implements HistoryStorage, and History adds the queries that need
// no function of their own. services/history/query implements the storage over segments and a
// catalog. services/history/testing contains a test implementation over vectors.
//
// A response covers all data ingested before the call. It depends only on the log records up to
// that point, so it is bit-identical even after a crash and regardless of when windows were sealed.
// Times are event times in ns since 1970; a range is [from_ns, to_ns).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/history/job_list.h"
#include "services/history/job_overview.h"
#include "services/history/rollup.h"
#include "services/history/rollup_rows.h"
#include "services/history/series_table.h"
#include "services/history/step_window.h"
#include "services/io/issue_source.h"
#include "services/model/issues/action.h"
#include "services/model/issues/capture.h"
#include "services/model/issues/notification.h"
#include "services/model/labels.h"
#include "services/model/matcher.h"
#include "services/model/position.h"
#include "services/model/telemetry.h"

namespace pitwall::history {

struct TimeRange {
  int64_t from_ns = 0;
  int64_t to_ns = kMaxPosition;
};

// Limits for one response. If a limit is exceeded, the call returns ResourceExhausted with the
// limit and the parameter that the caller should narrow.
struct ReadLimits {
  size_t series = 20'000;
  size_t rows = 20'000'000;  // samples, rollup rows, or spans
};

// Selects a job's series that match at least one selector, or all of its series if there are no
// selectors.
struct SeriesQuery {
  std::string job;  // job ID
  std::vector<Selector> selectors;
  TimeRange range;
  ReadLimits limits;
};

// Series of a job. Sources that send equal labels share one series. If two samples have the same
// time, the sample with the lower (source, boot ID, sequence) is used, as in the engine.
struct SeriesInfo {
  Labels labels;  // including __name__
  SeriesKind kind = SeriesKind::kGauge;
  int64_t first_ns = 0;  // time of the first sample
  int64_t last_ns = 0;
  bool has_steps = false;
};

struct SampleColumn {
  Labels labels;
  SeriesKind kind = SeriesKind::kGauge;
  std::vector<int64_t> times;  // strictly ascending
  std::vector<double> values;  // same size as times
  std::vector<int64_t> steps;  // same size as times or empty; kNoStep if the sample has no step
};

struct SampleQuery : SeriesQuery {
  // If set, selects only samples with a step in that mode (train, eval, …).
  std::string mode;
  int64_t from_step = kNoStep;  // steps in [from_step, to_step); requires a mode
  int64_t to_step = kMaxPosition;
  // Adds StaleMarker() where the engine ends a series: when the source's next schema drops the
  // series, or when the source sends a goodbye or falls silent (time-model.md, section 2).
  bool stale_markers = false;
};

struct RollupColumn {
  Labels labels;
  SeriesKind kind = SeriesKind::kGauge;
  std::vector<RollupRow> rows;  // ascending; the last rows may be incomplete
};

// Nonempty part of a series' rows.
struct RollupPart {
  uint32_t series = 0;  // number in this response, dense from 0
  const SeriesDescriptor* of = nullptr;
  RollupRows rows;
};

// Quantiles of a metric across a job's series on one node. The error is 0.0005 for ratios and 1%
// (relative) for other values. NaN values are ignored.
struct QuantileRow {
  std::string node;
  std::string metric;
  uint64_t count = 0;
  double min = 0;
  double max = 0;
  double mean = 0;
  std::vector<double> quantiles;  // in the requested order
};

struct SpanRow {
  std::string source;
  std::string node;
  int64_t rank = -1;
  Span span;
};

struct SpanQuery {
  std::string job;
  TimeRange range;             // selects spans that overlap the range
  std::vector<int64_t> ranks;  // if empty, all ranks are selected
  std::vector<Span::Kind> kinds;
  std::string name;  // if empty, all names are selected
  std::string mode;
  int64_t from_step = kNoStep;  // [from_step, to_step); kNoStep selects any step
  int64_t to_step = kMaxPosition;
  ReadLimits limits;
};

struct SpanPage {
  std::vector<SpanRow> rows;
  size_t total = 0;  // across all pages
};

// Returns rows [first, first + most).
SpanPage PageOf(std::vector<SpanRow> all, size_t first, size_t most);

struct OperatorTotal {
  int64_t rank = -1;
  Span::Kind kind = Span::Kind::kOperator;
  std::string name;
  uint64_t count = 0;
  int64_t total_ns = 0;
  int64_t min_ns = 0;
  int64_t max_ns = 0;
};

// Change to the history. Changes are in ingestion order with increasing `place`. Followers resume
// after the last place that they read.
struct Change {
  enum class Topic { kJob, kSamples, kIssue, kStatus, kAction, kCapture, kNotification };
  uint64_t place = 0;
  Topic topic = Topic::kSamples;
  std::string job;
  int64_t time_ns = 0;  // newest ingested event time (kSamples)
  IssueEventPtr event;  // for kJob, kIssue, and kStatus
  std::shared_ptr<const ActionEvent> action;
  std::shared_ptr<const RankCapture> capture;
  std::shared_ptr<const NotificationRecord> notification;
  // Size of the log record that contained the event, action, capture, or notification.
  size_t record_bytes = 0;
};

// The numbers are stored in the catalog and must not be reused.
enum class EventTopic : uint8_t { kIssues = 1, kActions = 2, kCaptures = 3, kNotification = 4 };

// Records of a job from one topic. The lists of the other topics are empty.
struct JobRecords {
  std::vector<IssueEventPtr> events;  // issues, statuses, and job changes
  std::vector<ActionEvent> actions;
  std::vector<RankCapture> captures;
  std::vector<NotificationRecord> notifications;  // each notification once
};

class ChangeFeed;

// Storage of a history: the functions that read stored data. The history of one process, the
// history of a fleet, and the history as of a time implement them.
//
// Thread-safe. Calls return NotFound if the job does not exist, and DataLoss if data is damaged.
// The DataLoss message names the damaged file and the fix. Calls never return DeadlineExceeded,
// because the limits bound the work per call.
class HistoryStorage {
 public:
  virtual ~HistoryStorage() = default;

  // Returns all jobs, and the peers whose jobs are missing.
  virtual JobList ListJobs() const = 0;
  // Finds a job by ID, name, or ID prefix. Returns NotFound if no job matches and InvalidArgument
  // if several jobs match.
  virtual StatusOr<JobLifePtr> FindJob(std::string_view job) const = 0;

  // Returns the series sorted by labels.
  virtual StatusOr<std::vector<SeriesInfo>> Series(const SeriesQuery& query) const = 0;
  virtual StatusOr<std::vector<SampleColumn>> Samples(const SampleQuery& query) const = 0;
  // Visits a consistent set of the windows in the query's range. If reading restarts, visits a new
  // set. `limits.rows` bounds a window. By default, the range is one window without summaries.
  using StepWindows = std::vector<const StepWindow*>;
  virtual Status VisitStepWindows(const SampleQuery& query,
                                  const std::function<Status(const StepWindows&)>& visit) const;
  // Returns rows that start in the range. `tier` is an index into kTiers.
  virtual StatusOr<std::vector<RollupColumn>> Rollups(const SeriesQuery& query,
                                                      size_t tier) const = 0;
  // Visits the rows that Rollups returns, in parts and in read order: rows of a series in time
  // order, and series in any order. Parts are valid only during the call. Calls `begin` before the
  // first part and again whenever reading restarts. Returns the series, indexed by number. Intended
  // for callers that need little data from many rows. By default, the parts are those of Rollups.
  virtual StatusOr<SeriesTablePtr> VisitRollups(
      const SeriesQuery& query, size_t tier, const std::function<void()>& begin,
      const std::function<Status(std::span<const RollupPart>)>& visit) const;
  // Returns quantiles sorted by (node, metric). Each requested quantile must be in [0, 1].
  virtual StatusOr<std::vector<QuantileRow>> Quantiles(const SeriesQuery& query,
                                                       std::span<const double> quantiles) const = 0;

  // Returns rows [first, first + most) of the spans sorted by (start, rank, kind, name).
  virtual StatusOr<SpanPage> SpansPage(const SpanQuery& query, size_t first, size_t most) const = 0;
  // Returns totals for the spans that start in the range, sorted by (rank, kind, name).
  virtual StatusOr<std::vector<OperatorTotal>> Operators(const SpanQuery& query) const = 0;

  // Returns the job's records of a topic in ingestion order.
  virtual StatusOr<JobRecords> Records(std::string_view job, EventTopic topic) const = 0;
  virtual const ChangeFeed& changes() const = 0;
};

// Queries on a storage that need no function of their own.
class History : public HistoryStorage {
 public:
  // Returns the jobs of ListJobs, for callers that do not report missing peers.
  std::vector<JobLifePtr> Jobs() const { return ListJobs().jobs; }
  // Visits the samples that Samples returns, in parts and in time order, so that only one part is
  // in memory at a time. A part contains the columns for one time range, sorted by labels. Each
  // sample is in exactly one part. Calls `begin` as VisitRollups does. `limits.rows` bounds a part.
  // Stale markers are not included.
  Status VisitSamples(const SampleQuery& query, const std::function<void()>& begin,
                      const std::function<Status(const std::vector<SampleColumn>&)>& visit) const;
  StatusOr<std::vector<SpanRow>> Spans(const SpanQuery& query) const;

  StatusOr<std::vector<IssueEventPtr>> Events(std::string_view job) const;
  StatusOr<std::vector<ActionEvent>> Actions(std::string_view job) const;
  StatusOr<std::vector<RankCapture>> Captures(std::string_view job) const;
  StatusOr<std::vector<NotificationRecord>> Notifications(std::string_view job) const;

  // Returns up to `max` changes after `place` without waiting. Returns OutOfRange if the next
  // changes were dropped; the caller then restarts at newest_place().
  StatusOr<std::vector<Change>> ChangesAfter(uint64_t place, size_t max) const;
  uint64_t newest_place() const;
};

// Changes to the history that require the "act" role. Thread-safe.
class HistoryAdmin {
 public:
  virtual ~HistoryAdmin() = default;
  // Deletes all of the job's data from the disk and the catalog before it returns. The job's log
  // records are not ingested again. Returns FailedPrecondition if the job is running.
  virtual Status DeleteJob(std::string_view job) = 0;
  // Writes the finished job to `folder`, which Archive::Open (ingest/archive.h) can read on any
  // machine. Returns FailedPrecondition if the job is running or the folder is not empty.
  virtual Status ArchiveJob(std::string_view job, const std::string& folder) = 0;
};

}  // namespace pitwall::history
