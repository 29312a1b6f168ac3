#include "tests/telemetry_script/scripted_sources.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "services/base/check.h"
#include "services/base/text/strings.h"
#include "services/io/topics.h"

namespace pitwall::telemetry_script {
namespace {

constexpr std::string_view kStepMetric = "train_step";

Labels DefaultLabels(const SourceName& name) {
  if (name.kind == SourceKind::kRank) return Labels({{"rank", Cat(name.rank)}});
  if (!name.node.empty()) return Labels({{"node", name.node}});
  return {};
}

// Samples of one batch. The frame points into this object.
struct Rows {
  Schema schema;
  std::vector<int64_t> times;
  std::vector<int64_t> steps;
  std::vector<double> values;
};

Schema SchemaOf(const Statement& statement, const Labels& labels) {
  Schema schema;
  if (statement.action == Action::kStep)
    schema.series.push_back({labels.With(kMetricName, kStepMetric), SeriesKind::kGauge});
  for (const SeriesValue& value : statement.values) {
    const Labels& own = value.labels.has_value() ? *value.labels : labels;
    schema.series.push_back({own.With(kMetricName, value.metric), SeriesKind::kGauge});
  }
  schema.id = SchemaId(schema.stream, schema.series);
  return schema;
}

}  // namespace

std::string ClockTickRecord(Duration elapsed) {
  std::string value;
  codec::EncodeControl({.kind = ControlRecord::Kind::kClockTick, .elapsed = elapsed}, &value);
  return value;
}

std::string RuleSetRecord(const std::string& hash) {
  std::string value;
  codec::EncodeControl({.kind = ControlRecord::Kind::kRuleSetChange, .rule_set_hash = hash},
                       &value);
  return value;
}

uint64_t ScriptedSources::NextSequence(std::string_view job, std::string_view source,
                                       std::string_view boot) {
  return ++sequences_[Cat(job, "/", source, "/", boot)];
}

ScriptedSources::Source& ScriptedSources::Find(const SourceName& name, int64_t zero_ns) {
  const std::string& job = name.job.empty() ? job_ : name.job;
  const auto [found, added] = sources_.try_emplace(Cat(job, "/", name.id));
  Source& source = found->second;
  if (added) {
    source.job = job;
    source.id = name.id;
    source.info = {.kind = name.kind,
                   .node = name.node,
                   .rank = name.rank,
                   .start = EventTime::FromNs(zero_ns)};
    source.labels = DefaultLabels(name);
  }
  return source;
}

void ScriptedSources::Change(const Sending& sending, int64_t zero_ns, Source* source) {
  const SourceChange& change = sending.statement->change;
  if (change.boot.has_value() && *change.boot != source->boot) {
    source->boot = *change.boot;
    source->info.start = EventTime::FromNs(zero_ns + sending.at_ns);
  }
  if (change.start_ns.has_value())
    source->info.start = EventTime::FromNs(zero_ns + *change.start_ns);
  if (change.start_unix_ns.has_value())
    source->info.start = EventTime::FromNs(*change.start_unix_ns);
  if (change.attempt.has_value()) source->info.attempt = change.attempt;
  if (change.node.has_value()) source->info.node = *change.node;
  if (change.modes.has_value()) source->info.step_modes = *change.modes;
  if (change.owner.has_value()) {
    source->owner = *change.owner;
    source->owner_declared = change.owner_declared;
  }
  if (change.clock_error_ns.has_value()) source->clock_error_ns = *change.clock_error_ns;
  if (change.labels.has_value()) source->labels = *change.labels;
  std::vector<std::string>& modes = source->info.step_modes;
  const Statement& statement = *sending.statement;
  if (statement.action == Action::kStep &&
      std::find(modes.begin(), modes.end(), statement.mode) == modes.end())
    modes.push_back(statement.mode);
}

std::vector<ScriptedSources::Sending> ScriptedSources::SendingsOf(
    const std::vector<Statement>& statements) {
  std::vector<Sending> sendings;
  for (const Statement& statement : statements) {
    const int64_t rows = 1 + (statement.last_ns - statement.first_ns) / statement.every_ns;
    for (int64_t row = 0; row < rows; row += statement.batch) {
      Sending sending{.statement = &statement, .name = nullptr, .first_row = row};
      sending.rows = std::min(statement.batch, rows - row);
      sending.at_ns = statement.first_ns + (row + sending.rows - 1) * statement.every_ns;
      for (const SourceName& name : statement.sources) {
        sending.name = &name;
        sendings.push_back(sending);
      }
      for (int64_t i = 0; i < statement.count && statement.sources.empty(); ++i)
        sendings.push_back(sending);
    }
  }
  std::stable_sort(sendings.begin(), sendings.end(),
                   [](const Sending& a, const Sending& b) { return a.at_ns < b.at_ns; });
  return sendings;
}

ScriptRecord ScriptedSources::Control(const Sending& sending) const {
  const Statement& statement = *sending.statement;
  ScriptRecord record{.key = std::string(kControlKey)};
  if (statement.action == Action::kLoadRules) {
    record.value = RuleSetRecord(statement.rules);
  } else {
    record.value = ClockTickRecord(
        Duration::Nanos(statement.action == Action::kFirstTick ? 0 : statement.every_ns));
  }
  return record;
}

void ScriptedSources::AddEvent(const Sending& sending, const Source& source, int64_t zero_ns,
                               Batch* batch) {
  JobEvent event = sending.statement->event;
  event.time = EventTime::FromNs(zero_ns + sending.at_ns + source.clock_error_ns);
  if (event.kind == JobEvent::Kind::kRankLost) {
    event.rank_lost.rank = source.info.rank;
    event.rank_lost.source = source.id;
    event.rank_lost.boot_id = source.boot;
  }
  batch->events.push_back(std::move(event));
}

ScriptRecord ScriptedSources::Encode(const Sending& sending, int64_t zero_ns) {
  const Statement& statement = *sending.statement;
  Source& source = Find(*sending.name, zero_ns);
  Change(sending, zero_ns, &source);
  const int64_t clock_ns = zero_ns + source.clock_error_ns;
  Batch batch;
  batch.job = source.job;
  batch.source = source.id;
  batch.boot_id = source.boot;
  batch.sequence = NextSequence(source.job, source.id, source.boot);
  batch.info = source.info;
  batch.owner = source.owner;
  batch.owner_declared = source.owner_declared;
  batch.goodbye = statement.action == Action::kGoodbye;
  if (source.info.kind != SourceKind::kForeign)
    batch.promise = EventTime::FromNs(clock_ns + statement.promise_ns.value_or(sending.at_ns));
  if (statement.action == Action::kEvent) AddEvent(sending, source, zero_ns, &batch);
  Rows rows;
  if (statement.action == Action::kSend || statement.action == Action::kStep) {
    const bool step = statement.action == Action::kStep;
    rows.schema = SchemaOf(statement, source.labels);
    for (int64_t row = sending.first_row; row < sending.first_row + sending.rows; ++row) {
      rows.times.push_back(clock_ns + statement.first_ns + row * statement.every_ns);
      if (step) {
        rows.steps.push_back(statement.first_step + row);
        rows.values.push_back(static_cast<double>(rows.steps.back()));
      }
      for (const SeriesValue& value : statement.values) rows.values.push_back(value.value);
    }
    if (statement.with_schema) batch.schemas.push_back(rows.schema);
    batch.frames.push_back({.schema_id = rows.schema.id,
                            .times = rows.times,
                            .steps = rows.steps,
                            .mode = step ? std::string_view(statement.mode) : "",
                            .values = rows.values});
    if (step) batch.step_promises.push_back({statement.mode, rows.steps.back()});
  }
  ScriptRecord record{.key = source.job, .source = source.id};
  encoder_.Encode(batch, &record.value);
  return record;
}

StatusOr<std::vector<ScriptRecord>> ScriptedSources::Expand(std::string_view script,
                                                            int64_t zero_ns) {
  ASSIGN_OR_RETURN(const std::vector<Statement> statements, ParseScript(script));
  std::vector<ScriptRecord> records;
  for (const Sending& sending : SendingsOf(statements)) {
    const Statement& statement = *sending.statement;
    ScriptRecord record = sending.name == nullptr ? Control(sending) : Encode(sending, zero_ns);
    record.append_time_ns =
        zero_ns + statement.arrival_ns.value_or(sending.at_ns + statement.late_ns);
    records.push_back(record);
    if (!statement.again_ns.has_value()) continue;
    record.append_time_ns = zero_ns + *statement.again_ns;
    records.push_back(std::move(record));
  }
  std::stable_sort(records.begin(), records.end(),
                   [](const ScriptRecord& a, const ScriptRecord& b) {
                     return a.append_time_ns < b.append_time_ns;
                   });
  return records;
}

std::vector<ScriptRecord> ScriptedSources::Play(std::string_view script, int64_t zero_ns) {
  StatusOr<std::vector<ScriptRecord>> records = Expand(script, zero_ns);
  PITWALL_CHECK_OK(records.status());
  return *std::move(records);
}

}  // namespace pitwall::telemetry_script
