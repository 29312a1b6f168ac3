// From batches to samples for a receiver of Prometheus remote write: the same series, with the
// same labels, as the history answers to PromQL, stale markers where they end (time-model.md,
// sections 1.6 and 2.2).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "services/history/remote/write_request.h"
#include "services/history/windows/node_means.h"
#include "services/history/windows/sequence_ranges.h"
#include "services/model/matcher.h"
#include "services/model/telemetry.h"

namespace pitwall::history {

// Which series are sent, and by which labels. Empty: all.
struct MirrorFilter {
  std::vector<Matcher> metrics;  // on __name__; one is enough
  std::vector<Matcher> labels;   // on names of labels; __name__ and pitwall_job always go
};

// Samples that are not sent, beside those of series that the filter leaves out.
struct MirrorCounts {
  uint64_t duplicates = 0;  // batches that came before
  uint64_t no_schema = 0;   // samples: their schema did not come
  uint64_t ahead = 0;       // samples: more than a minute ahead of their record
  uint64_t merged = 0;      // samples: of the same millisecond, or series made equal by the filter
};

// Not thread-safe. Of one partition, in the order of its records.
class RemoteWriteEncoder {
 public:
  explicit RemoteWriteEncoder(MirrorFilter filter) : filter_(std::move(filter)) {}

  // `warm_up`: learns schemas, sources and ends only.
  void Take(const Batch& batch, int64_t append_time_ns, bool warm_up);
  size_t pending() const { return pending_.size(); }
  // In the order in which a receiver takes them: each series ascending, one sample a millisecond.
  // Valid until Forget.
  const std::vector<MirroredSample>& Pending();
  // Those of Pending before the first late one.
  size_t Fresh() const;
  // They are sent. What nothing was heard of for long is forgotten.
  void Forget();
  MirrorCounts& counts() { return counts_; }
  size_t series() const { return series_; }  // that it knows

 private:
  struct Column {
    uint32_t column = 0;
    MirroredSeries series;
  };
  struct KnownSchema {
    SharedSchema schema{Schema()};
    std::vector<Column> columns;
    std::unique_ptr<const NodeMeans> means;  // null: nothing is made of it
    std::vector<Column> made;
    int64_t used_ns = 0;
  };
  struct Source {
    SequenceRanges seen;
    int64_t promise_ns = INT64_MIN;
    int64_t idle_ns = 0;
    bool ended = false;
    int64_t heard_ns = 0;                  // append time
    std::map<uint32_t, uint64_t> streams;  // schema in force
  };
  struct Job {
    int64_t heard_ns = 0;  // append time
    int64_t newest_ns = INT64_MIN;
    int64_t looked_ns = INT64_MIN;
    std::map<std::pair<std::string, std::string>, Source> sources;
    std::map<uint64_t, KnownSchema> schemas;
  };

  void Learn(const std::string& job_id, const SharedSchema& schema, Job* job);
  std::vector<Column> ColumnsOf(const std::string& job_id, const Schema& schema, uint64_t* merged);
  void AddFrame(const Frame& frame, int64_t append_time_ns, Source* source, Job* job);
  void Switch(uint64_t before, KnownSchema* after, int64_t time_ns, Job* job);
  void End(Source* source, Job* job);
  void EndSilent(Job* job);
  void Add(MirroredSeries* series, int64_t time_ms, double value);
  void Mark(MirroredSeries* series, int64_t time_ns);

  const MirrorFilter filter_;
  std::map<std::string, Job> jobs_;
  std::vector<MirroredSample> pending_;
  std::vector<double> made_;  // scratch
  MirrorCounts counts_;
  uint64_t next_id_ = 1;
  uint32_t group_ = 0;
  uint64_t flush_ = 1;
  bool warm_up_ = false;
  int64_t now_ns_ = 0;  // append time
  int64_t forgot_ns_ = 0;
  size_t series_ = 0;
};

}  // namespace pitwall::history
