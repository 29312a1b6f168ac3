// Recorded samples of finished jobs, from inputs that are read one after the other and merged by
// time: which series belong to which job, and what `backtest` feeds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/base/strings.h"
#include "services/model/labels.h"
#include "services/model/position.h"
#include "services/tools/sample_sorter.h"

namespace pitwall::tools {

// Names the training job of a series; taken off its labels.
inline constexpr std::string_view kJobLabel = "pitwall_job";

class Recording {
 public:
  struct Series {
    uint32_t job = 0;
    uint32_t input = 0;
    Labels labels;
    // Those with the same samples in time are fed as columns of one frame.
    uint64_t times_hash = 0;
  };
  struct Job {
    std::string id;
    int64_t first = kMaxPosition, last = kMinPosition;  // times of its samples
  };

  // Samples outside of [from, to] are left out.
  explicit Recording(int64_t from = kMinPosition, int64_t to = kMaxPosition,
                     size_t memory_samples = SampleSorter::kMemorySamples)
      : from_(from), to_(to), sorter_(memory_samples) {}

  // What follows comes from this input. `job`: of series that name none.
  void BeginInput(std::string name, std::string job);
  // Counts up from 0 in each input. InvalidArgument: the job cannot have this id.
  Status AddSeries(uint32_t series, const Labels& labels);
  Status AddSample(uint32_t series, int64_t time_ns, double value, uint32_t line);
  Status Finish() { return sorter_.Finish(); }

  // After Finish: the next sample by time; false at the end. InvalidArgument: a series has two
  // values at one time in one input.
  StatusOr<bool> Next(TimedSample* sample);

  const std::vector<std::string>& inputs() const { return inputs_; }
  const std::vector<Job>& jobs() const { return jobs_; }
  const std::vector<Series>& series() const { return series_; }
  uint64_t samples() const { return samples_; }
  uint64_t left_out() const { return left_out_; }

 private:
  StatusOr<uint32_t> FindJob(std::string_view id);

  const int64_t from_, to_;
  SampleSorter sorter_;
  std::vector<std::string> inputs_;
  std::string default_job_;
  uint32_t first_series_ = 0;  // of the input
  std::vector<Job> jobs_;
  StringMap<uint32_t> jobs_by_id_;
  std::vector<Series> series_;
  uint64_t samples_ = 0, left_out_ = 0;
  TimedSample before_{.time_ns = kMinPosition};
};

}  // namespace pitwall::tools
