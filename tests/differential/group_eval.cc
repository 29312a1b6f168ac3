// Pitwall's side of the differential test of rule groups (tests/differential/run_groups.py):
// evaluates whole rule sets over given samples tick by tick with the streaming engine, with reloads
// and restores from snapshots in between. Requests are lines (line_protocol.h):
//
//   series<TAB>N                                and N lines: the samples of the following runs
//   run<TAB>ID<TAB>start<TAB>end<TAB>default interval<TAB>restores<TAB>N       (ms; restores: t,t…)
//                                               and N rule sets, each
//   version<TAB>from<TAB>N                      and N lines "file<TAB>name<TAB>text"
//
// A rule set applies to the ticks after `from`. At a restore, everything is saved and read back.
// The response to each run is one line of JSON:
//
//   {"id":…,"error":…}  or
//   {"id":…,"ticks":[{"t":ms, "failed":[[rule, message]…],
//     "alerts":[[rule, [[state, active ms, started ms, value, labels, annotations]…]]…],
//     "rec":[[ms, value, labels]…], "events":[…]}…],
//    "reloads":[{"t":ms,"events":[…]}…]}
//
// Values are hexadecimal, and labels are a flat list; annotations are those of firing alerts.
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rules/plan/compile.h"
#include "services/base/text/strings.h"
#include "services/codec/json/json_writer.h"
#include "services/engine/domain/clock_domain.h"
#include "services/engine/shard.h"
#include "services/model/value.h"
#include "services/offline/ruletest/firing_annotations.h"
#include "tests/differential/line_protocol.h"

namespace pitwall {
namespace {

using codec::JsonWriter;
using differential::kMillisecond;
using differential::Number;

struct RuleSetVersion {
  int64_t from = 0;
  std::vector<RuleSetFile> files;
};

struct Run {
  std::string id;
  int64_t start = 0, end = 0, interval = 0;
  std::vector<int64_t> restores;
  std::vector<RuleSetVersion> versions;
};

std::string Hexadecimal(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%a", value);
  return text;
}

void WriteLabels(const Labels& labels, JsonWriter* out) {
  out->BeginArray();
  for (const Label& label : labels) {
    out->String(label.name);
    out->String(label.value);
  }
  out->EndArray();
}

void WriteMillis(int64_t ns, JsonWriter* out) { out->String(Cat(ns / kMillisecond)); }

// Results of the rules at one tick, as JSON.
class Watch final : public engine::RuleObserver {
 public:
  void Failed(const plan::Rule& rule, const Status& error) override {
    failed_.emplace_back(rule.name, ToStd(error.message()));
  }
  void Alerts(const alert::AlertInput& input, const alert::AlertState& state) override {
    const std::string& name = state.rule().name();
    offline::FiringAnnotations& spoken = spoken_[name];
    spoken.Update(input, state);
    std::map<Labels, offline::Annotations> annotations;
    for (offline::FiringAlert& alert : spoken.Firing(state.rule().alert()))
      annotations[alert.labels] = std::move(alert.annotations);
    alerts_.BeginArray();
    alerts_.String(name);
    alerts_.BeginArray();
    for (size_t i = 0; i < state.firing() + state.pending(); ++i) {
      const alert::ActiveAlert active = state.Active(i);
      alerts_.BeginArray();
      alerts_.String(active.firing ? "firing" : "pending");
      WriteMillis(active.active->time.ns(), &alerts_);
      WriteMillis(active.firing ? active.started->time.ns() : 0, &alerts_);
      alerts_.String(Hexadecimal(active.value));
      WriteLabels(*active.labels, &alerts_);
      alerts_.BeginArray();
      if (active.firing) {
        for (const auto& [key, text] : annotations[*active.labels]) {
          alerts_.String(key);
          alerts_.String(text);
        }
      }
      alerts_.EndArray();
      alerts_.EndArray();
    }
    alerts_.EndArray();
    alerts_.EndArray();
  }
  void Recorded(const Labels& labels, Position position, double value) override {
    recorded_.BeginArray();
    WriteMillis(position.ns(), &recorded_);
    recorded_.String(IsStale(value) ? "stale" : Hexadecimal(value));
    WriteLabels(labels, &recorded_);
    recorded_.EndArray();
  }

  void Begin() {
    failed_.clear();
    alerts_ = JsonWriter();
    recorded_ = JsonWriter();
    alerts_.BeginArray();
    recorded_.BeginArray();
  }
  std::string TakeAlerts() {
    alerts_.EndArray();
    return alerts_.Take();
  }
  std::string TakeRecorded() {
    recorded_.EndArray();
    return recorded_.Take();
  }
  std::string Failures() const {
    JsonWriter out;
    out.BeginArray();
    for (const auto& [rule, message] : failed_) {
      out.BeginArray();
      out.String(rule);
      out.String(message);
      out.EndArray();
    }
    out.EndArray();
    return out.Take();
  }
  // Drops the annotations of rules that no longer have alerts.
  void Forget(const std::set<std::string>& kept) {
    std::erase_if(spoken_, [&](const auto& entry) { return !kept.contains(entry.first); });
  }

 private:
  std::map<std::string, offline::FiringAnnotations> spoken_;  // by rule
  std::vector<std::pair<std::string, std::string>> failed_;
  JsonWriter alerts_, recorded_;
};

std::string EventsText(const engine::EventSink& outputs) {
  JsonWriter out;
  out.BeginArray();
  for (const IssueEvent& event : outputs.events) {
    if (event.type == EventType::kRuleStatus) continue;
    out.BeginObject();
    out.Text("type", EventTypeName(event.type));
    out.Text("rule", event.rule);
    out.Key("labels");
    WriteLabels(event.labels, &out);
    const std::pair<std::string_view, int64_t> times[] = {{"t", event.time.ns()},
                                                          {"active", event.active_since.ns()},
                                                          {"started", event.started_at.ns()},
                                                          {"ended", event.ended_at.ns()}};
    for (const auto& [key, ns] : times) {
      out.Key(key);
      WriteMillis(ns, &out);
    }
    out.Text("reason", EndReasonName(event.end_reason));
    out.Text("value", Hexadecimal(event.value));
    out.Key("summary");
    out.String(event.summary);
    out.Key("description");
    out.String(event.description);
    out.EndObject();
  }
  out.EndArray();
  return out.Take();
}

class GroupRun {
 public:
  GroupRun(const std::vector<offline::QuerySeries>& series, const Run& run)
      : series_(series), run_(run) {}

  StatusOr<std::string> Go() {
    std::string ticks, reloads;
    RETURN_IF_ERROR(Load(run_.versions.at(0)));
    size_t next_version = 1;
    size_t next_restore = 0;
    while (true) {
      const int64_t reload =
          next_version < run_.versions.size() ? run_.versions[next_version].from : kMaxPosition;
      const int64_t restore =
          next_restore < run_.restores.size() ? run_.restores[next_restore] : kMaxPosition;
      const int64_t until = std::min({reload, restore, run_.end});
      RETURN_IF_ERROR(RunTo(until, &ticks));
      if (until == run_.end) break;
      RETURN_IF_ERROR(Feed(until));
      if (until == reload) {
        engine::EventSink outputs;
        RETURN_IF_ERROR(Reload(run_.versions[next_version++], &outputs));
        CatTo(reloads, reloads.empty() ? "" : ",", "{\"t\":", until / kMillisecond,
              ",\"events\":", EventsText(outputs), "}");
      } else {
        ++next_restore;
        RETURN_IF_ERROR(Restore());
      }
    }
    return Cat("{\"id\":", run_.id, ",\"ticks\":[", ticks, "],\"reloads\":[", reloads, "]}\n");
  }

 private:
  StatusOr<plan::ProgramPtr> Compile(const RuleSetVersion& version) const {
    return plan::CompileRules(version.files, run_.interval);
  }

  std::unique_ptr<engine::ClockDomain> MakeRunner() {
    auto runner =
        std::make_unique<engine::ClockDomain>(program_, 0, engine::EngineOptions{}, &counters_);
    runner->evaluator().SetObserver(&watch_);
    return runner;
  }

  Status Load(const RuleSetVersion& version) {
    ASSIGN_OR_RETURN(program_, Compile(version));
    runner_ = MakeRunner();
    runner_->ticks().SetOrigin(Position::FromNs(run_.start));
    std::map<int64_t, std::vector<std::pair<size_t, double>>> rows;
    for (size_t i = 0; i < series_.size(); ++i) {
      for (const auto& [position, value] : series_[i].samples)
        rows[position].emplace_back(i, value);
    }
    rows_.assign(rows.begin(), rows.end());
    return Intern();
  }

  Status Intern() {
    ids_.clear();
    for (const offline::QuerySeries& series : series_) {
      ASSIGN_OR_RETURN(const window::SeriesId id, runner_->store()->Intern(series.labels));
      ids_.push_back(id);
    }
    return OkStatus();
  }

  Status Feed(int64_t upto) {
    for (; next_row_ < rows_.size() && rows_[next_row_].first <= upto; ++next_row_) {
      std::vector<window::SeriesId> ids;
      std::vector<double> values;
      for (const auto& [series, value] : rows_[next_row_].second) {
        ids.push_back(ids_[series]);
        values.push_back(value);
      }
      RETURN_IF_ERROR(runner_->store()->Append(
          {Position::FromNs(rows_[next_row_].first), "test", "", next_row_, 0}, ids, values));
    }
    return OkStatus();
  }

  static EvalTime At(int64_t ns) {
    return {.position = Position::FromNs(ns), .time = EventTime::FromNs(ns), .attempt = 1};
  }

  Status RunTo(int64_t until, std::string* ticks) {
    for (int64_t tick = runner_->ticks().NextTick().ns(); tick <= until;
         tick = runner_->ticks().NextTick().ns()) {
      RETURN_IF_ERROR(Feed(tick));
      watch_.Begin();
      engine::EventSink outputs;
      runner_->Evaluate(At(tick), job_, &outputs);
      CatTo(*ticks, ticks->empty() ? "" : ",", "{\"t\":", tick / kMillisecond,
            ",\"failed\":", watch_.Failures(), ",\"alerts\":", watch_.TakeAlerts(),
            ",\"rec\":", watch_.TakeRecorded(), ",\"events\":", EventsText(outputs), "}");
      last_tick_ = tick;
    }
    return OkStatus();
  }

  Status Reload(const RuleSetVersion& version, engine::EventSink* outputs) {
    std::map<std::string, std::string> fingerprints;
    for (const plan::Group& group : program_->domains[0].groups) {
      for (const plan::Rule& rule : group.rules) fingerprints[rule.name] = rule.fingerprint;
    }
    ASSIGN_OR_RETURN(program_, Compile(version));
    std::set<std::string> kept;
    for (const plan::Group& group : program_->domains[0].groups) {
      for (const plan::Rule& rule : group.rules) {
        if (fingerprints[rule.name] == rule.fingerprint) kept.insert(rule.name);
      }
    }
    watch_.Begin();
    runner_->Replace(program_, 0, At(version.from), job_, outputs);
    watch_.Forget(kept);
    return Intern();
  }

  // Simulates a crash immediately after a snapshot.
  Status Restore() {
    BinaryWriter saved;
    runner_->Save(saved);
    runner_ = MakeRunner();
    BinaryReader in(saved.data());
    RETURN_IF_ERROR(runner_->Restore(in, engine::kSnapshotJob));
    RETURN_IF_ERROR(in.Finish("snapshot"));
    runner_->Expire();
    return Intern();
  }

  const std::vector<offline::QuerySeries>& series_;
  const Run& run_;
  const engine::JobIdentity job_{.id = "test", .name = "test"};
  engine::EngineCounters counters_;
  plan::ProgramPtr program_;
  Watch watch_;
  std::unique_ptr<engine::ClockDomain> runner_;
  std::vector<window::SeriesId> ids_;
  std::vector<std::pair<int64_t, std::vector<std::pair<size_t, double>>>> rows_;
  size_t next_row_ = 0;
  int64_t last_tick_ = kMinPosition;
};

Run ReadRun(const std::vector<std::string>& fields) {
  Run run;
  run.id = fields[1];
  run.start = Number(fields[2]) * kMillisecond;
  run.end = Number(fields[3]) * kMillisecond;
  run.interval = Number(fields[4]) * kMillisecond;
  for (std::string rest = fields[5]; !rest.empty();) {
    const size_t comma = rest.find(',');
    run.restores.push_back(Number(rest.substr(0, comma)) * kMillisecond);
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
  }
  for (int64_t n = Number(fields[6]); n > 0; --n) {
    const std::vector<std::string> head =
        differential::Fields(differential::ReadLine("group_eval"));
    RuleSetVersion version;
    version.from = Number(head.at(1)) * kMillisecond;
    for (int64_t f = Number(head.at(2)); f > 0; --f) {
      std::vector<std::string> file = differential::Fields(differential::ReadLine("group_eval"));
      version.files.push_back({std::move(file.at(1)), std::move(file.at(2))});
    }
    run.versions.push_back(std::move(version));
  }
  return run;
}

int Main() {
  std::ios::sync_with_stdio(false);
  std::vector<offline::QuerySeries> series;
  std::string line;
  while (std::getline(std::cin, line)) {
    const std::vector<std::string> fields = differential::Fields(line);
    if (differential::ReadSeries(fields, "group_eval", &series)) continue;
    if (fields[0] == "run" && fields.size() == 7) {
      const Run run = ReadRun(fields);
      const StatusOr<std::string> answer = GroupRun(series, run).Go();
      if (answer.ok()) {
        std::cout << *answer << std::flush;
        continue;
      }
      JsonWriter out;
      out.BeginObject();
      out.Text("error", ToStd(answer.status().message()));
      out.EndObject();
      std::cout << out.Take() << "\n" << std::flush;
    } else {
      std::cerr << "group_eval: unknown request: " << line << "\n";
      return 2;
    }
  }
  return 0;
}

}  // namespace
}  // namespace pitwall

int main() { return pitwall::Main(); }
