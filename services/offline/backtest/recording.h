// Recorded samples of finished jobs, from inputs that are read sequentially and merged by time.
// Assigns series to jobs and supplies `backtest`.
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

// Label with the job of a series; removed from its labels.
inline constexpr std::string_view kJobLabel = "pitwall_job";

// Policy for two values of one series at one time in one input.
enum class Duplicates : uint8_t { kRefuse, kFirst, kLast };

class Recording {
 public:
  struct Series {
    uint32_t job = 0;
    uint32_t input = 0;
    Labels labels;
    std::string mode;             // mode of its samples' steps; empty without steps
    int64_t last = kMinPosition;  // time of its newest sample
    // Series with equal sample times are fed as columns of one frame.
    uint64_t times_hash = 0;
  };
  struct Job {
    std::string id;
    int64_t first = kMaxPosition, last = kMinPosition;  // times of its samples
  };

  // Drops samples outside [from, to], except those that `other_times` needs.
  explicit Recording(int64_t from = kMinPosition, int64_t to = kMaxPosition,
                     OtherTimes other_times = {},
                     size_t memory_samples = SampleSorter::kMemorySamples)
      : from_(from), to_(to), other_times_(std::move(other_times)), sorter_(memory_samples) {}

  // Begins an input. `job`: for series without a job label.
  void BeginInput(std::string name, std::string job);
  // Adds a series; returns numbers from 0 in each input. `mode`: its samples have steps of this
  // mode. InvalidArgument: invalid job ID.
  Status AddSeries(uint32_t series, const Labels& labels, std::string_view mode = "");
  // With a step if the series has a mode, otherwise without one.
  Status AddSample(uint32_t series, int64_t time_ns, double value, uint32_t line,
                   int64_t step = kNoStep);
  // Ends the input phase. `start`: beginning of the rules, if later than a job's first sample.
  // InvalidArgument: an expression at a fixed time fails.
  Status Finish(int64_t start = kMinPosition);

  // Must be called before the first Next; the default is kRefuse.
  void set_duplicates(Duplicates duplicates) { duplicates_ = duplicates; }
  // After Finish: returns the next sample by time, or false at the end. InvalidArgument: a series
  // has two values at one time in one input, and the policy rejects them.
  StatusOr<bool> Next(TimedSample* sample);

  const std::vector<std::string>& inputs() const { return inputs_; }
  const std::vector<Job>& jobs() const { return jobs_; }
  const std::vector<Series>& series() const { return series_; }
  uint64_t samples() const { return samples_; }
  uint64_t left_out() const { return left_out_; }
  // Number of samples that another value at the same time has replaced; valid after the last Next.
  uint64_t replaced() const { return replaced_; }
  // Time range of all added samples, including dropped ones; kMaxPosition and kMinPosition without
  // samples.
  int64_t first() const { return first_; }
  int64_t last() const { return last_; }

 private:
  // A series of the current input and the destinations of its samples.
  struct Route {
    uint32_t series = 0;
    std::vector<std::pair<uint32_t, int64_t>> copies;  // series and shift to an earlier time
    std::vector<uint32_t> constants;                   // constants that read it
  };
  using Samples = std::vector<std::pair<int64_t, double>>;

  StatusOr<uint32_t> FindJob(std::string_view id);
  uint32_t Append(uint32_t job, Labels labels, std::string_view mode = "");
  // A generated sample.
  Status AddDerived(uint32_t series, int64_t time_ns, double value, uint32_t line,
                    int64_t step = kNoStep);
  Status AddConstant(const OtherTimes::Constant& constant, uint32_t job, int64_t start,
                     const std::map<Labels, Samples>& read);

  const int64_t from_, to_;
  const OtherTimes other_times_;
  SampleSorter sorter_;
  std::vector<std::string> inputs_;
  std::string default_job_;
  std::vector<Route> routes_;  // of the current input
  std::vector<Job> jobs_;
  StringMap<uint32_t> jobs_by_id_;
  std::vector<Series> series_;
  // Samples that constants read, by constant and job.
  std::map<std::pair<uint32_t, uint32_t>, std::map<Labels, Samples>> read_;
  size_t read_samples_ = 0;
  uint64_t samples_ = 0, left_out_ = 0, replaced_ = 0;
  int64_t first_ = kMaxPosition, last_ = kMinPosition;
  Duplicates duplicates_ = Duplicates::kRefuse;
  std::optional<TimedSample> ahead_;  // sample after the one that Next returned last
};

}  // namespace pitwall::offline
