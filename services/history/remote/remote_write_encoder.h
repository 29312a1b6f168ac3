// Encodes batches as samples for Prometheus remote write. Produces the same series and labels as
// PromQL queries over the history, with stale markers at the ends of series (time-model.md,
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

// Filter for the mirrored series and their labels. An empty list keeps everything.
struct MirrorFilter {
  std::vector<Matcher> metrics;  // matchers on __name__; a series must match at least one
  std::vector<Matcher> labels;  // matchers on label names; __name__ and pitwall_job are always sent
};

// Counts of unsent samples. They exclude series that the filter drops.
struct MirrorCounts {
  uint64_t duplicates = 0;  // from batches that were received before
  uint64_t no_schema = 0;   // samples with a missing schema
  uint64_t ahead = 0;       // samples more than a minute ahead of their record
  uint64_t merged = 0;  // duplicates within a millisecond, or of series that the filter makes equal
};

// Encoder for one partition. Records must be added in order. Not thread-safe.
class RemoteWriteEncoder {
 public:
  explicit RemoteWriteEncoder(MirrorFilter filter) : filter_(std::move(filter)) {}

  // If `warm_up` is true, only updates the known schemas, sources, and ends of series.
  void Take(const Batch& batch, int64_t append_time_ns, bool warm_up);
  size_t pending() const { return pending_.size(); }
  // Returns samples in an order that receivers accept: each series in time order with one sample
  // per millisecond, and late samples last. Valid until Forget is called.
  const std::vector<MirroredSample>& Pending();
  // Returns the number of samples in Pending that precede the first late sample.
  size_t Fresh() const;
  // Drops the pending samples after they were sent. Also drops state that has not been used for a
  // long time.
  void Forget();
  MirrorCounts& counts() { return counts_; }
  size_t series() const { return series_; }  // number of known series

 private:
  struct Column {
    uint32_t column = 0;
    MirroredSeries series;
  };
  struct KnownSchema {
    SharedSchema schema{Schema()};
    std::vector<Column> columns;
    std::unique_ptr<const NodeMeans> means;  // null if the schema has no derived series
    std::vector<Column> made;
    int64_t used_ns = 0;
  };
  struct Source {
    SequenceRanges seen;
    int64_t promise_ns = INT64_MIN;
    int64_t idle_ns = 0;
    bool ended = false;
    int64_t last_ns = 0;                   // append time of the job's last record
    std::map<uint32_t, uint64_t> streams;  // current schema of each stream
  };
  struct Job {
    int64_t last_ns = 0;  // append time of the boot's last record
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
  std::vector<double> made_;  // scratch buffer for derived series
  MirrorCounts counts_;
  uint64_t next_id_ = 1;
  uint32_t group_ = 0;
  uint64_t flush_ = 1;
  bool warm_up_ = false;
  int64_t now_ns_ = 0;  // append time of the current record
  int64_t forgot_ns_ = 0;
  size_t series_ = 0;
};

}  // namespace pitwall::history
