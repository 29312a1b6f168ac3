#include "services/offline/backtest/backtest.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "services/base/clock.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/engine/domain/clock_domain.h"
#include "services/model/telemetry.h"
#include "services/model/value.h"

namespace pitwall::offline {
namespace {

// Number of cells per batch. It is large enough to keep the cost per cell low.
constexpr size_t kBatchCells = 65'536;
// Maximum number of cells before `start` for rules with a long look-back.
constexpr size_t kHistoryCells = 64'000'000;

engine::EngineOptions OptionsOfRecording(engine::RecordingObserver* recordings) {
  engine::EngineOptions options;
  options.recordings = recordings;
  options.check_append_time = false;
  options.source.max_schemas = SIZE_MAX;    // the number of series is the limit
  options.max_job_bytes = size_t{1} << 40;  // the batch size is the limit
  return options;
}

// Series from one input with the same sample times and steps. They are the columns of one frame.
struct Columns {
  Schema schema;
  std::string mode;  // empty if the samples have no steps
  bool announced = false;
  std::vector<int64_t> times;
  std::vector<int64_t> steps;
  std::vector<double> values;
};

// Progress of one rank through the steps of one mode. As with a live client's promises, a step is
// complete once the rank has a sample of a later step.
struct RankSteps {
  std::string mode;
  std::string rank;
  int64_t step = kNoStep;       // newest step
  int64_t last = kMinPosition;  // time of the last sample; after it, the rank delays no others
};

struct JobInput {
  std::string source;
  std::vector<Columns> frames;
  std::vector<RankSteps> ranks;
  std::set<std::string> modes;  // modes of the input's steps
  uint64_t sequence = 0;
};

// Destination for a series' values in the batches.
struct Cell {
  JobInput* input = nullptr;
  uint32_t frame = 0;
  uint32_t column = 0;
  uint32_t rank = 0;  // index into JobInput::ranks; only for series with steps
};

class JobFeed {
 public:
  JobFeed(const Recording::Job& job, engine::CompiledRulesPtr rules, const BacktestOptions& options,
          engine::EngineCounters* counters)
      : id_(job.id),
        begin_(std::max(job.first, options.start)),
        last_(job.last),
        job_(job.id, std::move(rules), OptionsOfRecording(options.recordings), counters) {}

  JobInput* AddInput(std::string source) {
    inputs_.push_back(std::make_unique<JobInput>());
    inputs_.back()->source = std::move(source);
    return inputs_.back().get();
  }

  // Adds a sample. Samples must arrive in time order.
  Status Add(const Cell& cell, const TimedSample& sample, engine::EventSink* out) {
    const int64_t time = sample.time_ns;
    if (time > newest_) {
      // At this point, all samples up to newest_ have been read. Completed steps are promised
      // immediately, because the engine needs the previous step if the step numbers go backward.
      const bool due = cells_ >= kBatchCells || (begun_ && steps_moved_);
      if (due || (!begun_ && time > begin_)) RETURN_IF_ERROR(Flush(time > begin_, out));
      newest_ = time;
    }
    if (sample.step != kNoStep) {
      RankSteps& rank = cell.input->ranks[cell.rank];
      steps_moved_ |= rank.step != sample.step;
      rank.step = sample.step;
    }
    Columns& columns = cell.input->frames[cell.frame];
    const size_t width = columns.schema.series.size();
    if (columns.times.empty() || columns.times.back() != time ||
        (!columns.steps.empty() && columns.steps.back() != sample.step)) {
      columns.times.push_back(time);
      if (!columns.mode.empty()) columns.steps.push_back(sample.step);
      columns.values.resize(columns.values.size() + width, MissingValue());
      cells_ += width;
    }
    columns.values[columns.values.size() - width + cell.column] = sample.value;
    return OkStatus();
  }

  bool DoneAt(int64_t time) const { return time > last_; }

  Status Finish(bool end_job, engine::EventSink* out) {
    if (newest_ < begin_) return OkStatus();  // all samples precede the start
    RETURN_IF_ERROR(Flush(true, out));
    job_.FinishInput(end_job, out);
    return OkStatus();
  }

 private:
  // Passes the collected samples to the job. If `promise` is true, also advances the job's time: to
  // the start of the job on the first call, and to the newest sample on later calls.
  Status Flush(bool promise, engine::EventSink* out) {
    if (!begun_) {
      history_ += cells_;
      if (history_ > kHistoryCells) {
        return ResourceExhausted(Cat("job ", Quote(id_), ": the rules need more than ",
                                     kHistoryCells, " samples from before --start"));
      }
    }
    for (const auto& input : inputs_) {
      Batch batch = BatchOf(input.get());
      for (Columns& columns : input->frames) {
        if (columns.times.empty()) continue;
        if (!columns.announced) batch.schemas.emplace_back(columns.schema);
        columns.announced = true;
        batch.frames.push_back({.schema_id = columns.schema.id,
                                .times = columns.times,
                                .steps = columns.steps,
                                .mode = columns.mode,
                                .values = columns.values});
      }
      if (!batch.frames.empty()) job_.OnBatch({}, batch, "", out);
      for (Columns& columns : input->frames) {
        columns.times.clear();
        columns.steps.clear();
        columns.values.clear();
      }
    }
    cells_ = 0;
    if (!promise) return OkStatus();
    std::map<std::string, int64_t> newest;  // newest step of any rank, by mode
    for (const auto& input : inputs_) {
      for (const RankSteps& rank : input->ranks) {
        int64_t& step = newest.try_emplace(rank.mode, kNoStep).first->second;
        step = std::max(step, rank.step);
      }
    }
    // The promises follow the samples of all inputs, because the first promises together form the
    // first watermark.
    for (const auto& input : inputs_) {
      Batch batch = BatchOf(input.get());
      batch.promise = EventTime::FromNs(begun_ ? newest_ : begin_);
      if (batch.promise.ns() == 0) batch.promise = EventTime::FromNs(1);  // 0 would mean no promise
      PromiseSteps(*input, newest, &batch);
      if (!begun_ && input == inputs_.front()) {
        batch.events.emplace_back();
        batch.events[0].time = EventTime::FromNs(FloorTo(begin_, kNanosPerSecond));
        batch.events[0].name = id_;
      }
      job_.OnBatch({}, batch, "", out);
    }
    begun_ = true;
    steps_moved_ = false;
    return OkStatus();
  }

  // Promises, for each mode, the step that every rank with remaining samples has completed. An
  // input without such ranks promises the newest step of any rank, so that it does not delay other
  // inputs. As with a live client, each batch repeats the promises, because the engine discards all
  // promises if the step numbers go backward.
  void PromiseSteps(const JobInput& input, const std::map<std::string, int64_t>& newest,
                    Batch* batch) const {
    for (const std::string& mode : input.modes) {
      int64_t least = kMaxPosition;
      for (const RankSteps& rank : input.ranks) {
        if (rank.mode == mode && rank.last > newest_)
          least = std::min(least, rank.step == kNoStep ? kNoStep : rank.step - 1);
      }
      if (least == kMaxPosition) least = newest.at(mode);
      if (least >= 0) batch->step_promises.push_back({mode, least});
    }
  }

  Batch BatchOf(JobInput* input) const {
    Batch batch;
    batch.job = id_;
    batch.source = input->source;
    batch.boot_id = "recording";
    batch.sequence = ++input->sequence;
    batch.info.start = EventTime::FromNs(begin_);
    batch.info.step_modes.assign(input->modes.begin(), input->modes.end());
    return batch;
  }

  const std::string id_;
  const int64_t begin_;
  const int64_t last_;
  engine::Job job_;
  std::vector<std::unique_ptr<JobInput>> inputs_;
  int64_t newest_ = kMinPosition;
  size_t cells_ = 0;
  size_t history_ = 0;
  bool begun_ = false;
  bool steps_moved_ = false;  // true if a step changed since the last promises
};

uint32_t RankOf(const Recording::Series& series, JobInput* input) {
  input->modes.insert(series.mode);
  const std::string_view rank = series.labels.Get("rank");
  for (uint32_t i = 0; i < input->ranks.size(); ++i) {
    RankSteps& known = input->ranks[i];
    if (known.mode != series.mode || known.rank != rank) continue;
    known.last = std::max(known.last, series.last);
    return i;
  }
  input->ranks.push_back({series.mode, std::string(rank), kNoStep, series.last});
  return static_cast<uint32_t>(input->ranks.size() - 1);
}

// Groups the series of each job and input into frames by their sample times.
std::vector<Cell> BuildFeeds(const Recording& recording,
                             const std::vector<std::unique_ptr<JobFeed>>& feeds) {
  std::vector<Cell> cells(recording.series().size());
  std::map<std::pair<uint32_t, uint32_t>, JobInput*> inputs;
  std::map<std::tuple<JobInput*, uint64_t, std::string>, uint32_t> frames;
  for (size_t i = 0; i < cells.size(); ++i) {
    const Recording::Series& series = recording.series()[i];
    if (feeds[series.job] == nullptr) continue;
    JobInput*& input = inputs[{series.job, series.input}];
    if (input == nullptr) {
      // The number prefix makes the source names sort in input order. If two inputs have a value
      // for the same series and time, the first input wins.
      std::string number = std::to_string(series.input);
      number.insert(0, 6 - std::min<size_t>(number.size(), 6), '0');
      input = feeds[series.job]->AddInput(Cat(number, " ", recording.inputs()[series.input]));
    }
    const auto [frame, added] = frames.try_emplace({input, series.times_hash, series.mode},
                                                   static_cast<uint32_t>(input->frames.size()));
    if (added) input->frames.emplace_back().mode = series.mode;
    Schema& schema = input->frames[frame->second].schema;
    cells[i] = {input, frame->second, static_cast<uint32_t>(schema.series.size()), 0};
    if (!series.mode.empty()) cells[i].rank = RankOf(series, input);
    schema.series.push_back({series.labels, SeriesKind::kGauge});
  }
  for (const auto& [key, input] : inputs) {
    uint32_t stream = 0;
    for (Columns& columns : input->frames) {
      columns.schema.stream = stream++;
      columns.schema.id = SchemaId(columns.schema.stream, columns.schema.series);
    }
  }
  return cells;
}

}  // namespace

int64_t HistoryOf(const engine::CompiledRules& rules) {
  const plan::ProgramPtr program = rules.program();
  int64_t history = 0;
  if (program == nullptr) return history;
  engine::EngineCounters ignored;
  for (size_t i = 0; i < program->domains.size(); ++i) {
    for (const Demand& demand : program->domains[i].demands.demands) {
      if (demand.kind == WindowKind::kAttempt || demand.kind == WindowKind::kFirst)
        return kMaxPosition;
      int64_t reach = 0;  // the last N samples may be up to one look-back apart
      if (demand.kind == WindowKind::kSamples &&
          (__builtin_mul_overflow(demand.range, demand.lookback, &reach) || reach > kMaxPosition))
        return kMaxPosition;
      history = std::max(history, reach);
    }
    const engine::ClockDomain runner(program, i, engine::EngineOptions{}, &ignored);
    history = std::max(history, runner.ticks().quiet_horizon().ns());
  }
  return std::min(history, kMaxPosition);
}

Status RunBacktest(Recording* recording, engine::CompiledRulesPtr rules,
                   const BacktestOptions& options, engine::EngineCounters* counters,
                   std::vector<IssueEvent>* events) {
  std::vector<std::unique_ptr<JobFeed>> feeds;
  std::multimap<int64_t, uint32_t> ends;
  for (const Recording::Job& job : recording->jobs()) {
    feeds.push_back(nullptr);
    if (job.first > job.last || job.last < options.start) continue;  // no samples remain
    feeds.back() = std::make_unique<JobFeed>(job, rules, options, counters);
    ends.emplace(job.last, static_cast<uint32_t>(feeds.size() - 1));
  }
  std::vector<Cell> cells = BuildFeeds(*recording, feeds);
  engine::EventSink out;
  const auto finish_before = [&](int64_t time) -> Status {
    while (!ends.empty() && ends.begin()->first < time) {
      std::unique_ptr<JobFeed>& feed = feeds[ends.begin()->second];
      RETURN_IF_ERROR(feed->Finish(options.end_jobs, &out));
      feed.reset();
      ends.erase(ends.begin());
    }
    return OkStatus();
  };
  TimedSample sample;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, recording->Next(&sample));
    RETURN_IF_ERROR(finish_before(more ? sample.time_ns : INT64_MAX));
    if (!more) break;
    const Cell& cell = cells[sample.series];
    if (cell.input == nullptr) continue;
    JobFeed* feed = feeds[recording->series()[sample.series].job].get();
    RETURN_IF_ERROR(feed->Add(cell, sample, &out));
  }
  events->insert(events->end(), std::make_move_iterator(out.events.begin()),
                 std::make_move_iterator(out.events.end()));
  return OkStatus();
}

void SortEvents(std::vector<IssueEvent>* events) {
  std::stable_sort(events->begin(), events->end(), [](const IssueEvent& a, const IssueEvent& b) {
    return std::tie(a.time, a.job, a.rule, a.labels) < std::tie(b.time, b.job, b.rule, b.labels);
  });
}

}  // namespace pitwall::offline
