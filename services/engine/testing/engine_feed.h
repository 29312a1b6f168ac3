// Test helper: a shard that takes its rules from a string. Tests feed batches to it.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/check.h"
#include "services/base/clock.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/codec/telemetry_codec.h"
#include "services/engine/shard.h"
#include "tests/telemetry_script/scripted_sources.h"

namespace pitwall::engine {

// Rule sets by hash, like the rule sets on pitwall.rules.
class RulesForTest final : public RuleSetProvider {
 public:
  using Files = std::vector<RuleSetFile>;

  // Compiles the rules, and returns their hash.
  std::string Add(RuleSet rules) {
    auto compiled = CompiledRules::Compile(std::move(rules));
    if (!compiled.ok()) std::fprintf(stderr, "%s\n", compiled.status().ToString().c_str());
    PITWALL_CHECK(compiled.ok());
    return Add(*compiled);
  }
  std::string Add(CompiledRulesPtr rules) {
    const std::string hash = rules->hash();
    sets_[hash] = std::move(rules);
    return hash;
  }
  std::string Add(std::string_view text, Files baselines = {}) {
    return Add({.files = {{"pack.yaml", std::string(text)}}, .baselines = std::move(baselines)});
  }
  StatusOr<CompiledRulesPtr> Load(const std::string& hash) override {
    const auto found = sets_.find(hash);
    if (found == sets_.end()) return NotFound(Cat("rule set ", hash));
    return found->second;
  }

 private:
  StringMap<CompiledRulesPtr> sets_;
};

inline CompiledRulesPtr CompiledForTest(std::string_view text) {
  RulesForTest rules;
  return *rules.Load(rules.Add(text));
}
inline plan::ProgramPtr ProgramForTest(std::string_view text) {
  return CompiledForTest(text)->program();
}

// A job named "job" with its sources in one partition. Times are seconds after kBase.
class ShardForTest {
 public:
  static constexpr int64_t kBase = 1'767'225'600 * kNanosPerSecond;

  explicit ShardForTest(std::string_view rules, EngineOptions options = {},
                        RulesForTest::Files baselines = {})
      : ShardForTest(RuleSet{.files = {{"pack.yaml", std::string(rules)}},
                             .baselines = std::move(baselines)},
                     options) {}
  explicit ShardForTest(RuleSet rules, EngineOptions options = {})
      : ShardForTest(*CompiledRules::Compile(std::move(rules)), options) {}
  explicit ShardForTest(CompiledRulesPtr rules, EngineOptions options = {})
      : options_(options),
        first_(rules_.Add(std::move(rules))),
        shard_(std::make_unique<Shard>(&rules_, options)) {
    PITWALL_CHECK(shard_->SetInitialRules(first_).ok());
  }

  static int64_t At(double seconds) {
    return kBase + static_cast<int64_t>(seconds * static_cast<double>(kNanosPerSecond));
  }

  // Feeds a batch from a node source. Fills in the job, boot ID, sequence number, start, and
  // promise.
  void Feed(Batch batch, double promise) {
    batch.job = "job";
    if (batch.boot_id.empty()) batch.boot_id = "boot";
    batch.sequence = sources_.NextSequence(batch.job, batch.source, batch.boot_id);
    if (batch.info.start.ns() == 0) batch.info.start = EventTime::FromNs(kBase);
    // Foreign sources do not send promises.
    batch.promise = EventTime::FromNs(batch.info.kind == SourceKind::kForeign ? 0 : At(promise));
    std::string bytes;
    encoder_.Encode(batch, &bytes);
    FeedBytes(bytes, append_at_ < 0 ? promise : append_at_);
  }
  // Feeds the records of a telemetry script (tests/telemetry_script). Its times are after kBase.
  void Play(std::string_view script) {
    for (const telemetry_script::ScriptRecord& record : sources_.Play(script, kBase)) {
      Apply(record.value, append_at_ < 0 ? record.append_time_ns : At(append_at_));
    }
  }
  // Sets the log's append time for all subsequent records, regardless of the sources' clocks. If
  // negative, each batch's append time equals its promise, or its arrival in a script.
  void SetAppendTime(double seconds) { append_at_ = seconds; }
  void Tick(double seconds = 1) {
    FeedBytes(
        telemetry_script::ClockTickRecord(Duration::Nanos(static_cast<int64_t>(seconds * 1e9))),
        append_at_);
  }
  void ChangeRules(std::string_view text, RulesForTest::Files baselines = {}) {
    ChangeTo(rules_.Add(text, std::move(baselines)));
  }
  void ChangeRules(CompiledRulesPtr rules) { ChangeTo(rules_.Add(std::move(rules))); }

  // Simulates a crash: restores everything from a snapshot of the current state.
  void Restart() {
    std::vector<JobSnapshot> snapshots;
    for (const Job* job : shard_->jobs().All())
      snapshots.push_back(shard_->Snapshot(job->state().identity.id, offset_));
    shard_ = std::make_unique<Shard>(&rules_, options_);
    PITWALL_CHECK(
        shard_->SetInitialRules(snapshots.empty() ? first_ : snapshots[0].rule_set_hash).ok());
    for (const JobSnapshot& snapshot : snapshots) {
      const Status restored = shard_->RestoreJob(snapshot);
      if (!restored.ok()) std::fprintf(stderr, "%s\n", restored.ToString().c_str());
      PITWALL_CHECK(restored.ok());
    }
  }
  void FeedBytes(std::string_view bytes, double append_at) { Apply(bytes, At(append_at)); }

  Shard& shard() { return *shard_; }
  uint64_t drops(Drop reason) const {
    return shard_->counters().drops[static_cast<size_t>(reason)];
  }
  const EventSink& outputs() const { return outputs_; }
  // Returns "<type> <alert or status> <reason>" for each issue and rule event so far, for readable
  // assertion failures.
  std::vector<std::string> Events() const {
    std::vector<std::string> out;
    for (const IssueEvent& e : outputs_.events) {
      if (e.type == EventType::kJobChanged) continue;
      if (e.type == EventType::kRuleStatus) {
        out.push_back(Cat("status ", RuleStatusName(e.status), " ", e.alert, " ", e.status_reason));
      } else {
        out.push_back(Cat(EventTypeName(e.type), " ", e.alert));
      }
    }
    return out;
  }
  // Returns a rule's current "<status> <reason>", even if no event has reported it.
  std::string StatusOf(std::string_view alert) const {
    for (const RuleStatusNow& now : StatusesOf(shard_->jobs().Find("job")->state().domains())) {
      if (now.rule->alert == alert) return Cat(RuleStatusName(now.status), " ", now.reason);
    }
    return "";
  }

 private:
  void Apply(std::string_view bytes, int64_t append_time_ns) {
    PITWALL_CHECK(
        shard_->Apply(offset_, AppendTime::FromNs(append_time_ns), "job", bytes, &outputs_).ok());
    ++offset_;
  }
  void ChangeTo(const std::string& hash) {
    FeedBytes(telemetry_script::RuleSetRecord(hash), append_at_);
  }

  RulesForTest rules_;
  const EngineOptions options_;
  const std::string first_;  // Hash of the first rules.
  std::unique_ptr<Shard> shard_;
  double append_at_ = -1;
  codec::BatchEncoder encoder_;
  telemetry_script::ScriptedSources sources_;
  EventSink outputs_;
  LogOffset offset_;
};

inline Schema SchemaOf(std::vector<SeriesDescriptor> series) {
  Schema schema;
  schema.series = std::move(series);
  schema.id = SchemaId(0, schema.series);
  return schema;
}

// Feeds one second of samples with the same value at `hz`. The last sample is at `until`.
inline void FeedSecond(ShardForTest* shard, std::string_view source, const Schema& schema,
                       int until, int hz, double value) {
  std::vector<int64_t> times;
  for (int i = 1; i <= hz; ++i)
    times.push_back(ShardForTest::At(until - 1 + static_cast<double>(i) / hz));
  const std::vector<double> values(times.size() * schema.series.size(), value);
  Batch batch;
  batch.source = source;
  batch.schemas.push_back(schema);
  if (!schema.series.empty())
    batch.frames.push_back({.schema_id = schema.id, .times = times, .values = values});
  shard->Feed(batch, until);
}

}  // namespace pitwall::engine
