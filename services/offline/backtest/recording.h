// Recorded samples of finished jobs. Reads the inputs one at a time, assigns their series to jobs,
// and supplies the samples to `backtest` in time order.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/base/status.h"
#include "services/base/text/strings.h"
#include "services/model/labels.h"
#include "services/model/position.h"
#include "services/offline/at_offset_rewrite.h"
#include "services/offline/backtest/sample_sorter.h"

namespace pitwall::offline {

// Label that contains the job ID of a series. The label is removed from the series.
inline constexpr std::string_view kJobLabel = "pitwall_job";

// Determines which value is used if one input has different values for a series at the same time.
enum class Duplicates : uint8_t { kRefuse, kFirst, kLast };

class Recording {
 public:
  struct Series {
    uint32_t job = 0;
    uint32_t input = 0;
    Labels labels;
    std::string mode;             // mode of the samples' steps; empty if the samples have no steps
    int64_t last = kMinPosition;  // time of the newest sample
    // Hash of the sample times. Series with equal hashes are fed as columns of one frame.
    uint64_t times_hash = 0;
  };
  struct Job {
    std::string id;
    int64_t first = kMaxPosition, last = kMinPosition;  // times of the first and last sample
  };

  // Drops samples outside [from, to], except for samples that `other_times` requires.
  explicit Recording(int64_t from = kMinPosition, int64_t to = kMaxPosition,
                     OtherTimes other_times = {},
                     size_t memory_samples = SampleSorter::kMemorySamples)
      : from_(from), to_(to), other_times_(std::move(other_times)), sorter_(memory_samples) {}

  // Starts an input. Series without a job label belong to `job`.
  void BeginInput(std::string name, std::string job);
  // Adds a series. Within each input, series must be numbered from 0. If `mode` is not empty, the
  // samples must have steps of this mode. Returns InvalidArgument if the job ID is invalid.
  Status AddSeries(uint32_t series, const Labels& labels, std::string_view mode = "");
  // Adds a sample. `step` is required if the series has a mode, and must be omitted otherwise.
  Status AddSample(uint32_t series, int64_t time_ns, double value, uint32_t line,
                   int64_t step = kNoStep);
  // Ends the input phase. Rule evaluation starts at `start` or a job's first sample, whichever is
  // later. Returns InvalidArgument if an expression at a fixed time cannot be evaluated.
  Status Finish(int64_t start = kMinPosition);

  // Sets the policy for duplicates. The default is kRefuse. Must be called before the first call to
  // Next.
  void set_duplicates(Duplicates duplicates) { duplicates_ = duplicates; }
  // Returns the next sample in time order, or false at the end. Must be called after Finish.
  // Returns InvalidArgument if an input has different values for a series at the same time and the
  // policy is kRefuse.
  StatusOr<bool> Next(TimedSample* sample);

  const std::vector<std::string>& inputs() const { return inputs_; }
  const std::vector<Job>& jobs() const { return jobs_; }
  const std::vector<Series>& series() const { return series_; }
  uint64_t samples() const { return samples_; }
  uint64_t left_out() const { return left_out_; }
  // Returns the number of samples that were discarded in favor of another value at the same time.
  // Valid after the last call to Next.
  uint64_t replaced() const { return replaced_; }
  // Return the time range of all added samples, including dropped ones, or kMaxPosition and
  // kMinPosition if there are none.
  int64_t first() const { return first_; }
  int64_t last() const { return last_; }

 private:
  // Series of the current input and the destinations of its samples.
  struct Route {
    uint32_t series = 0;
    std::vector<std::pair<uint32_t, int64_t>> copies;  // (series, shift to an earlier time)
    std::vector<uint32_t> constants;  // indexes of the constants that depend on the series
  };
  using Samples = std::vector<std::pair<int64_t, double>>;

  StatusOr<uint32_t> FindJob(std::string_view id);
  uint32_t Append(uint32_t job, Labels labels, std::string_view mode = "");
  // Adds a sample to a generated series.
  Status AddDerived(uint32_t series, int64_t time_ns, double value, uint32_t line,
                    int64_t step = kNoStep);
  Status AddConstant(const OtherTimes::Constant& constant, uint32_t job, int64_t start,
                     const std::map<Labels, Samples>& read);

  const int64_t from_, to_;
  const OtherTimes other_times_;
  SampleSorter sorter_;
  std::vector<std::string> inputs_;
  std::string default_job_;
  std::vector<Route> routes_;  // routes for the series of the current input
  std::vector<Job> jobs_;
  StringMap<uint32_t> jobs_by_id_;
  std::vector<Series> series_;
  // Samples that constants depend on, keyed by constant and job.
  std::map<std::pair<uint32_t, uint32_t>, std::map<Labels, Samples>> read_;
  size_t read_samples_ = 0;
  uint64_t samples_ = 0, left_out_ = 0, replaced_ = 0;
  int64_t first_ = kMaxPosition, last_ = kMinPosition;
  Duplicates duplicates_ = Duplicates::kRefuse;
  std::optional<TimedSample> ahead_;  // sample that follows the last one returned by Next
};

}  // namespace pitwall::offline
