// Telemetry and events of three jobs with realistic disturbances: late, duplicate, and reordered
// batches, a second boot, a second attempt, a source that becomes silent, and missing values.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "services/base/time.h"
#include "services/history/ingest/testing/ingest_fixture.h"
#include "services/model/value.h"

namespace pitwall::history {

// Returns the records in log order, with topic, key, and value.
inline std::vector<OutgoingRecord> HistoryRecords(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<OutgoingRecord> out;
  std::vector<OutgoingRecord> late;
  const auto add_event = [&](const std::string& job, JobChange change, int64_t time_ns,
                             uint64_t attempt, uint64_t sequence) {
    IssueEvent event;
    event.type = EventType::kJobChanged;
    event.job = job;
    event.job_name = "train of " + job;
    event.time = EventTime::FromNs(time_ns);
    event.attempt = attempt;
    event.job_change = change;
    event.sequence = sequence;
    if (change == JobChange::kAttemptEnded) event.end_detail = EndDetail::kDied;
    event.id = MakeEventId(event);
    out.push_back({.topic = std::string(kIssuesTopic),
                   .partition = 0,
                   .key = job,
                   .value = cloudevents::EncodeCloudEvent(event)});
  };
  const std::vector<std::string> jobs = {"job-a", "job-b", "job-c"};
  std::vector<Schema> nodes, ranks;
  for (int n = 0; n < 2; ++n) {
    std::vector<Labels> labels;
    for (int c = 0; c < 12; ++c)
      labels.push_back({{"__name__", c % 2 == 0 ? "hw_gpu_utilization_ratio" : "hw_power_watts"},
                        {"node", Cat("node-", n)},
                        {"gpu", Cat(c / 2)}});
    nodes.push_back(SchemaOf(1, labels));
    ranks.push_back(SchemaOf(2, {{{"__name__", "train_loss"}, {"rank", Cat(n)}},
                                 {{"__name__", "train_step_duration_seconds"}, {"rank", Cat(n)}}}));
  }
  for (const std::string& job : jobs) {
    add_event(job, JobChange::kStarted, kBegin, 0, 1);
    add_event(job, JobChange::kAttemptBegan, kBegin, 1, 2);
  }
  const auto put = [&](const Batch& batch) {
    std::string bytes;
    codec::EncodeBatch(batch, &bytes);
    OutgoingRecord record{
        .topic = std::string(kTelemetryTopic), .partition = 0, .key = batch.job, .value = bytes};
    const uint64_t luck = random() % 100;
    if (luck < 3) {
      late.push_back(std::move(record));  // arrives much later than the others
      return;
    }
    if (luck < 6) late.push_back(record);  // arrives twice
    out.push_back(std::move(record));
    if (!late.empty() && random() % 10 == 0) {
      out.push_back(late.front());
      late.erase(late.begin());
    }
  };
  uint64_t sequence = 0;
  for (int tick = 0; tick < 260; ++tick) {  // 65 minutes of ticks, 15 s each
    ++sequence;
    const int64_t begin = kBegin + tick * 15 * kNanosPerSecond;
    if (tick == 130) {
      for (const std::string& job : jobs) {
        add_event(job, JobChange::kAttemptEnded, begin, 1, 3);
        add_event(job, JobChange::kAttemptBegan, begin, 2, 4);
      }
    }
    for (const std::string& job : jobs) {
      for (size_t n = 0; n < 2; ++n) {
        if (n == 1 && job == "job-b" && tick > 60 && tick < 100)
          continue;  // the source is silent at this time
        OwnedBatch node(Cat("collector-", n), sequence);
        node.batch.job = job;
        node.batch.info.node = Cat("node-", n);
        if (tick % 20 == 0) node.batch.schemas.emplace_back(nodes[n]);
        std::vector<int64_t> times;
        std::vector<double> cells;
        for (int row = 0; row < 6; ++row) {
          times.push_back(begin + row * 2'500 * kNanosPerMilli);
          for (size_t c = 0; c < 12; ++c) {
            cells.push_back(random() % 50 == 0 ? MissingValue()
                                               : static_cast<double>(random() % 1000) / 1000);
          }
        }
        node.Rows(nodes[n], times, cells);
        put(node.batch);
        OwnedBatch rank(Cat("rank-", n), sequence, static_cast<int64_t>(n));
        rank.batch.job = job;
        rank.batch.boot_id = tick < 130 ? "boot-1" : "boot-2";
        rank.batch.info.start =
            EventTime::FromNs(tick < 130 ? kBegin : kBegin + 130 * 15 * kNanosPerSecond);
        if (tick % 20 == 0 || tick == 130) rank.batch.schemas.emplace_back(ranks[n]);
        const int64_t step = tick;
        const int64_t end = begin + 12 * kNanosPerSecond + static_cast<int64_t>(random() % 1000);
        rank.Rows(ranks[n], {end}, {1.0 / (1 + tick), 12.0}, {step},
                  tick % 5 == 0 ? "eval" : "train");
        rank.batch.spans.push_back({Span::Kind::kStep, "", EventTime::FromNs(begin),
                                    EventTime::FromNs(end), step, "train"});
        for (const char* phase : {"forward", "backward"})
          rank.batch.spans.push_back(
              {Span::Kind::kPhase, phase, EventTime::FromNs(begin),
               EventTime::FromNs(begin + static_cast<int64_t>(random() % 10'000'000)), step,
               "train"});
        put(rank.batch);
      }
    }
  }
  for (OutgoingRecord& record : late) out.push_back(std::move(record));
  for (const std::string& job : jobs)
    add_event(job, JobChange::kEnded, kBegin + 3900 * kNanosPerSecond, 2, 5);
  return out;
}

inline void Put(BinaryWriter& out, const Status& status) {
  out.Str(Cat(static_cast<int>(status.code()), " ", ToStd(status.message())));
}
inline void Put(BinaryWriter& out, const RollupRow& row) {
  out.I64(row.start_ns);
  for (const double v : {row.min, row.max, row.sum, row.last}) out.Double(v);
  out.U64(row.count);
}

// Returns the encoded response to the request with this number, or the error.
inline StatusOr<std::string> Answer(const History& history, int request) {
  std::mt19937_64 random(static_cast<uint64_t>(request) * 7919 + 1);
  const std::vector<std::string> jobs = {"job-a", "job-b", "job-c"};
  const std::vector<std::string> metrics = {"hw_gpu_utilization_ratio", "hw_power_watts",
                                            "train_loss", "train_step_duration_seconds"};
  SampleQuery query;
  query.job = jobs[random() % 3];
  if (random() % 4 != 0) query.selectors = {NameIs(metrics[random() % 4])};
  if (random() % 3 == 0 && !query.selectors.empty())
    query.selectors[0].matchers.push_back(*Matcher::Make("gpu", MatchOp::kRegex, "[0-2]"));
  if (random() % 3 != 0) {
    query.range.from_ns = kBegin + static_cast<int64_t>(random() % 3900) * kNanosPerSecond;
    query.range.to_ns =
        query.range.from_ns + static_cast<int64_t>(random() % 3000) * kNanosPerSecond;
  }
  SpanQuery spans;
  spans.job = query.job;
  spans.range = query.range;
  if (random() % 2 == 0) spans.ranks = {static_cast<int64_t>(random() % 2)};
  BinaryWriter out;
  switch (request % 8) {
    case 0:
      query.stale_markers = random() % 2 == 0;
      [[fallthrough]];
    case 1: {
      if (request % 8 == 1) query.mode = random() % 2 == 0 ? "train" : "eval";
      if (!query.mode.empty()) query.from_step = static_cast<int64_t>(random() % 200);
      ASSIGN_OR_RETURN(const auto columns, history.Samples(query));
      for (const SampleColumn& c : columns) {
        out.Str(c.labels.ToString());
        out.I64s(c.times);
        out.Doubles(c.values);
        out.I64s(c.steps);
      }
      break;
    }
    case 2:
    case 3: {
      ASSIGN_OR_RETURN(const auto columns, history.Rollups(query, random() % 3));
      for (const RollupColumn& c : columns) {
        out.Str(c.labels.ToString());
        for (const RollupRow& row : c.rows) Put(out, row);
      }
      break;
    }
    case 4: {
      const std::vector<double> wanted = {0, 0.01, 0.5, 0.9, 0.99, 1};
      ASSIGN_OR_RETURN(const auto rows, history.Quantiles(query, wanted));
      for (const QuantileRow& row : rows) {
        out.Str(Cat(row.node, "/", row.metric, " ", row.count));
        for (const double v : {row.min, row.max, row.mean}) out.Double(v);
        out.Doubles(row.quantiles);
      }
      break;
    }
    case 5: {
      ASSIGN_OR_RETURN(const auto rows, history.Spans(spans));
      for (const SpanRow& row : rows) {
        out.Str(Cat(row.source, row.node, row.rank, row.span.name, row.span.mode));
        for (const int64_t v : {row.span.start.ns(), row.span.end.ns(), row.span.step}) out.I64(v);
      }
      break;
    }
    case 6: {
      ASSIGN_OR_RETURN(const auto rows, history.Operators(spans));
      for (const OperatorTotal& row : rows)
        out.Str(Cat(row.rank, row.name, " ", row.count, " ", row.total_ns, " ", row.min_ns, " ",
                    row.max_ns));
      break;
    }
    default: {
      ASSIGN_OR_RETURN(const auto series, history.Series(query));
      for (const SeriesInfo& info : series)
        out.Str(Cat(info.labels.ToString(), info.first_ns, " ", info.last_ns, info.has_steps));
      ASSIGN_OR_RETURN(const JobLifePtr life, history.FindJob(query.job));
      out.Str(Cat(life->name, life->samples, " ", life->first_ns, " ", life->last_ns, " ",
                  life->ended_ns, " ", life->attempts.size(), " ", life->sources.size()));
      for (const AttemptLife& a : life->attempts)
        out.Str(Cat(a.attempt, " ", a.began_ns, " ", a.ended_ns, " ", a.first_step_ns, " ",
                    a.last_step_ns));
      ASSIGN_OR_RETURN(const auto events, history.Events(query.job));
      for (const IssueEventPtr& event : events) out.Str(event->id);
    }
  }
  return out.Take();
}

inline constexpr int kRequests = 200;

}  // namespace pitwall::history
