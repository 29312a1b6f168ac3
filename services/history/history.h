// The history of all jobs, as its readers ask for it: page, API, command line, Prometheus'
// queries. services/history/query implements it over segments and a catalogue; tests implement
// it over vectors.
//
// An answer holds what was ingested when it began. It is a function of the records of the log up
// to there: the same to the bit after a kill, whatever was sealed when. Times are event time in ns
// since 1970; a range is [from_ns, to_ns).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
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

// Bounds of one answer. Beyond them: ResourceExhausted, which names the bound and what to narrow.
struct ReadLimits {
  size_t series = 20'000;
  size_t rows = 20'000'000;  // samples, rollup rows or spans
};

// Series of one job that any of the selectors matches; without selectors all.
struct SeriesQuery {
  std::string job;  // id
  std::vector<Selector> selectors;
  TimeRange range;
  ReadLimits limits;
};

// A series of a job. Two sources that send equal labels are one series: of two samples at one time
// that of the lesser (source, boot id, sequence) counts, as in the engine.
struct SeriesInfo {
  Labels labels;  // with __name__
  SeriesKind kind = SeriesKind::kGauge;
  int64_t first_ns = 0;  // of its samples
  int64_t last_ns = 0;
  bool has_steps = false;
};

struct SampleColumn {
  Labels labels;
  SeriesKind kind = SeriesKind::kGauge;
  std::vector<int64_t> times_ns;  // strictly ascending
  std::vector<double> values;     // as many
  std::vector<int64_t> steps;     // as many, or empty; kNoStep where a sample has no step
};

struct SampleQuery : SeriesQuery {
  // "": any. Else only samples with a step of that mode (train, eval, …).
  std::string mode;
  int64_t from_step = kNoStep;  // with a mode: steps in [from_step, to_step)
  int64_t to_step = kMaxPosition;
  // Adds StaleMarker() where a series ends as the engine sees it: its source's next schema is
  // without it, the source says goodbye, or falls silent (time-model.md, section 2).
  bool stale_markers = false;
};

struct RollupColumn {
  Labels labels;
  SeriesKind kind = SeriesKind::kGauge;
  std::vector<RollupRow> rows;  // ascending; the last ones may not be over
};

// Some rows of a series, at least one.
struct RollupPart {
  uint32_t series = 0;  // number of it in the answer: as many as there are, and few more
  const SeriesDescriptor* of = nullptr;
  RollupRows rows;
};

// Quantiles of a metric over a job's series of one node: ratios to half a thousandth, others to a
// relative 1 %. NaN is left out.
struct QuantileRow {
  std::string node;
  std::string metric;
  uint64_t count = 0;
  double min = 0;
  double max = 0;
  double mean = 0;
  std::vector<double> quantiles;  // in the order asked for
};

struct SpanRow {
  std::string source;
  std::string node;
  int64_t rank = -1;
  Span span;
};

struct SpanQuery {
  std::string job;
  TimeRange range;             // spans that overlap it
  std::vector<int64_t> ranks;  // empty: all
  std::vector<Span::Kind> kinds;
  std::string name;  // "": all
  std::string mode;
  int64_t from_step = kNoStep;  // [from_step, to_step); kNoStep: any
  int64_t to_step = kMaxPosition;
  ReadLimits limits;
};

struct SpanPage {
  std::vector<SpanRow> rows;
  size_t total = 0;  // of all pages
};

struct OperatorTotal {
  int64_t rank = -1;
  Span::Kind kind = Span::Kind::kOperator;
  std::string name;
  uint64_t count = 0;
  int64_t total_ns = 0;
  int64_t min_ns = 0;
  int64_t max_ns = 0;
};

// Something that changed, in the order of ingest. `place` grows; watching goes on right after it.
struct Change {
  enum class Topic { kJob, kSamples, kIssue, kStatus, kAction, kCapture, kNotification };
  uint64_t place = 0;
  Topic topic = Topic::kSamples;
  std::string job;
  int64_t time_ns = 0;  // kSamples: newest event time that is ingested
  IssueEventPtr event;  // kJob, kIssue, kStatus
  std::shared_ptr<const ActionEvent> action;
  std::shared_ptr<const RankCapture> capture;
  std::shared_ptr<const NotificationRecord> notification;
  // Of the record that the event, action, capture, or notice was read from.
  size_t record_bytes = 0;
};

// Thread-safe. NotFound: no such job. DataLoss names the damaged file and the way out.
// DeadlineExceeded never: callers bound an answer by its limits.
class History {
 public:
  virtual ~History() = default;

  // The job heard of last comes first.
  virtual std::vector<JobLifePtr> Jobs() const = 0;
  // By id, by name, or by a beginning of the id. NotFound; InvalidArgument: several have it.
  virtual StatusOr<JobLifePtr> FindJob(std::string_view job) const = 0;

  // Answers are sorted by labels.
  virtual StatusOr<std::vector<SeriesInfo>> Series(const SeriesQuery& query) const = 0;
  virtual StatusOr<std::vector<SampleColumn>> Samples(const SampleQuery& query) const = 0;
  // The same samples in parts, in the order of time, so that memory is bounded by one part: columns
  // of some stretch, sorted by labels; a sample is in one part only. `begin` comes before the first
  // part, and again where reading begins again. `limits.rows` bounds a part. Without stale markers.
  virtual Status VisitSamples(const SampleQuery& query, const std::function<void()>& begin,
                              const std::function<Status(std::vector<SampleColumn>)>& visit) const {
    begin();
    ASSIGN_OR_RETURN(std::vector<SampleColumn> all, Samples(query));
    return visit(std::move(all));
  }
  // Hands out the windows of the query's range, all of one moment; again, with what they are by
  // then, where reading began again. `limits.rows` bounds a window.
  using StepWindows = std::vector<const StepWindow*>;
  virtual Status VisitStepWindows(const SampleQuery& query,
                                  const std::function<Status(const StepWindows&)>& visit) const;
  // `tier`: index of kTiers. Rows that begin in the range.
  virtual StatusOr<std::vector<RollupColumn>> Rollups(const SeriesQuery& query,
                                                      size_t tier) const = 0;
  // The same rows in parts, as they are read: those of one series in the order of time, series in
  // no order. Parts are valid during the call. `begin` as above. Returns which series the numbers
  // are. For who needs a little of many rows.
  virtual StatusOr<SeriesTablePtr> VisitRollups(
      const SeriesQuery& query, size_t tier, const std::function<void()>& begin,
      const std::function<Status(std::span<const RollupPart>)>& visit) const;
  // By (node, metric). `quantiles`: each in [0, 1].
  virtual StatusOr<std::vector<QuantileRow>> Quantiles(const SeriesQuery& query,
                                                       std::span<const double> quantiles) const = 0;

  // By (start, rank, kind, name).
  virtual StatusOr<std::vector<SpanRow>> Spans(const SpanQuery& query) const = 0;
  // Of the same the rows [first, first + most).
  virtual StatusOr<SpanPage> SpansPage(const SpanQuery& query, size_t first, size_t most) const {
    ASSIGN_OR_RETURN(std::vector<SpanRow> all, Spans(query));
    SpanPage page{{}, all.size()};
    first = std::min(first, all.size());
    const auto begin = std::make_move_iterator(all.begin() + static_cast<ptrdiff_t>(first));
    page.rows.assign(begin, begin + static_cast<ptrdiff_t>(std::min(most, all.size() - first)));
    return page;
  }
  // Of the spans that begin in the range, by (rank, kind, name).
  virtual StatusOr<std::vector<OperatorTotal>> Operators(const SpanQuery& query) const = 0;

  // All events of a job in the order of the log: issues, statuses, changes of the job.
  virtual StatusOr<std::vector<IssueEventPtr>> Events(std::string_view job) const = 0;
  virtual StatusOr<std::vector<ActionEvent>> Actions(std::string_view job) const = 0;
  virtual StatusOr<std::vector<RankCapture>> Captures(std::string_view job) const = 0;
  // Each notice once, in the order of ingest.
  virtual StatusOr<std::vector<NotificationRecord>> Notifications(std::string_view job) const = 0;

  // Up to `max` changes after `place`, without waiting. OutOfRange: what comes next is no longer
  // kept; begin again with newest_place().
  virtual StatusOr<std::vector<Change>> ChangesAfter(uint64_t place, size_t max) const = 0;
  virtual uint64_t newest_place() const = 0;
};

// What a person with the role act may do to the history. Thread-safe.
class HistoryAdmin {
 public:
  virtual ~HistoryAdmin() = default;
  // Deletes all that the history has of the job, from disk and catalogue, before it returns. What
  // the log still holds of it is not read again. FailedPrecondition: the job runs.
  virtual Status DeleteJob(std::string_view job) = 0;
  // Writes the finished job to `folder`, which OpenArchive (keep/archive.h) reads anywhere.
  // FailedPrecondition: the job runs, or the folder is not empty.
  virtual Status ArchiveJob(std::string_view job, const std::string& folder) = 0;
};

}  // namespace pitwall::history
