// Recorded samples of finished jobs, from inputs that are read one after the other and merged by
// time: which series belong to which job, and what `backtest` feeds.
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

// Names the training job of a series; taken off its labels.
inline constexpr std::string_view kJobLabel = "pitwall_job";

// Two values of one series at one time in one input.
enum class Duplicates : uint8_t { kRefuse, kFirst, kLast };

class Recording {
 public:
  struct Series {
    uint32_t job = 0;
    uint32_t input = 0;
    Labels labels;
    std::string mode;             // of its samples' steps; empty where they have none
    int64_t last = kMinPosition;  // time of its newest sample
    // Those with the same samples in time are fed as columns of one frame.
    uint64_t times_hash = 0;
  };
  struct Job {
    std::string id;
    int64_t first = kMaxPosition, last = kMinPosition;  // times of its samples
  };

  // Samples outside of [from, to] are left out, but for what `other_times` asks of them.
  explicit Recording(int64_t from = kMinPosition, int64_t to = kMaxPosition,
                     OtherTimes other_times = {},
                     size_t memory_samples = SampleSorter::kMemorySamples)
      : from_(from), to_(to), other_times_(std::move(other_times)), sorter_(memory_samples) {}

  // What follows comes from this input. `job`: of series that name none.
  void BeginInput(std::string name, std::string job);
  // Counts up from 0 in each input. `mode`: its samples carry steps of it. InvalidArgument: the job
  // cannot have this id.
  Status AddSeries(uint32_t series, const Labels& labels, std::string_view mode = "");
  // A step for series with a mode, none for others.
  Status AddSample(uint32_t series, int64_t time_ns, double value, uint32_t line,
                   int64_t step = kNoStep);
  // No input follows. `start`: where rules begin, where that is later than a job's first sample.
  // InvalidArgument: what rules ask at a fixed time fails.
  Status Finish(int64_t start = kMinPosition);

  // Before the first Next; kRefuse else.
  void set_duplicates(Duplicates duplicates) { duplicates_ = duplicates; }
  // After Finish: the next sample by time; false at the end. InvalidArgument: a series has two
  // values at one time in one input, and they are refused.
  StatusOr<bool> Next(TimedSample* sample);

  const std::vector<std::string>& inputs() const { return inputs_; }
  const std::vector<Job>& jobs() const { return jobs_; }
  const std::vector<Series>& series() const { return series_; }
  uint64_t samples() const { return samples_; }
  uint64_t left_out() const { return left_out_; }
  // Samples that another value of their series at their time has replaced; after the last Next.
  uint64_t replaced() const { return replaced_; }
  // The times of all samples given, also of those left out; kMaxPosition and kMinPosition: none.
  int64_t first() const { return first_; }
  int64_t last() const { return last_; }

 private:
  // A series of the present input and what becomes of its samples.
  struct Route {
    uint32_t series = 0;
    std::vector<std::pair<uint32_t, int64_t>> copies;  // series, how much earlier
    std::vector<uint32_t> constants;                   // that read it
  };
  using Samples = std::vector<std::pair<int64_t, double>>;

  StatusOr<uint32_t> FindJob(std::string_view id);
  uint32_t Append(uint32_t job, Labels labels, std::string_view mode = "");
  // A sample that nobody recorded.
  Status AddDerived(uint32_t series, int64_t time_ns, double value, uint32_t line,
                    int64_t step = kNoStep);
  Status AddConstant(const OtherTimes::Constant& constant, uint32_t job, int64_t start,
                     const std::map<Labels, Samples>& read);

  const int64_t from_, to_;
  const OtherTimes other_times_;
  SampleSorter sorter_;
  std::vector<std::string> inputs_;
  std::string default_job_;
  std::vector<Route> routes_;  // of the input
  std::vector<Job> jobs_;
  StringMap<uint32_t> jobs_by_id_;
  std::vector<Series> series_;
  // What constants read: by constant and job.
  std::map<std::pair<uint32_t, uint32_t>, std::map<Labels, Samples>> read_;
  size_t read_samples_ = 0;
  uint64_t samples_ = 0, left_out_ = 0, replaced_ = 0;
  int64_t first_ = kMaxPosition, last_ = kMinPosition;
  Duplicates duplicates_ = Duplicates::kRefuse;
  std::optional<TimedSample> ahead_;  // read behind the one that Next gave last
};

}  // namespace pitwall::offline
