// Writes a few valid inputs for each fuzzer: write_codec_corpus DIR creates DIR/telemetry,
// DIR/state, and DIR/client.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "pitwall/client/v1/client.pb.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/codec/rule_set_codec.h"
#include "services/codec/snapshot_codec.h"
#include "services/codec/telemetry_codec.h"
#include "services/model/value.h"

namespace pitwall {
namespace {

bool Write(const std::filesystem::path& dir, const std::vector<std::string>& seeds) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  for (size_t i = 0; i < seeds.size(); ++i) {
    std::ofstream file(dir / Cat("seed-", i), std::ios::binary);
    file << seeds[i];
    if (!file.flush()) return false;
  }
  return true;
}

std::vector<std::string> TelemetrySeeds() {
  std::vector<std::string> seeds(3);
  const std::vector<int64_t> times{1'700'000'000'000'000'000, 1'700'000'000'500'000'000};
  const std::vector<int64_t> steps{7, kNoStep};
  const std::vector<double> values{1, MissingValue(), StaleMarker(), 2.5};
  Batch batch;
  batch.job = "j";
  batch.source = "rank-1@n";
  batch.boot_id = "b";
  batch.sequence = 1;
  batch.info = {SourceKind::kRank,     "n",      1, EventTime::FromNs(times[0] - 1), 2,
                Duration::Millis(500), {"train"}};
  batch.promise = EventTime::FromNs(times[0] - 1);
  Schema schema;
  schema.series = {{Labels({{kMetricName, "train_step"}, {"rank", "1"}}), SeriesKind::kGauge},
                   {Labels({{kMetricName, "x_total"}}), SeriesKind::kCounter}};
  schema.id = SchemaId(0, schema.series);
  batch.schemas = {schema};
  batch.frames = {{schema.id, times, steps, "train", values}};
  batch.spans = {{Span::Kind::kPhase, "forward", EventTime::FromNs(times[0]),
                  EventTime::FromNs(times[1]), 7, "train"}};
  batch.events.resize(1);
  batch.step_promises = {{"train", 6}};
  codec::EncodeBatch(batch, &seeds[0]);
  ControlRecord tick;
  tick.elapsed = Duration::Seconds(1);
  codec::EncodeControl(tick, &seeds[1]);
  ControlRecord change;
  change.kind = ControlRecord::Kind::kRuleSetChange;
  change.rule_set_hash = "0123";
  codec::EncodeControl(change, &seeds[2]);
  return seeds;
}

std::vector<std::string> StateSeeds() {
  std::vector<std::string> seeds;
  const auto chunks = codec::SplitSnapshot("j", 17, "hash", 1, "state of a job");
  if (chunks.ok()) seeds = *chunks;
  RuleSet rules;
  rules.files = {{"a.yaml", "groups: []"}};
  seeds.push_back(codec::EncodeRuleSet(rules));
  rules.job_parameters = {{"job", "p/g/A", "limit", 0.3}};
  seeds.push_back(codec::EncodeRuleSet(rules));
  seeds.push_back(
      codec::EncodeJobParameters({"job", {{rules.job_parameters[0], "act", 17, "request"}}, 0}));
  return seeds;
}

std::vector<std::string> ClientSeeds() {
  client::v1::ClientMessage hello, update, goodbye;
  hello.mutable_hello()->set_protocol(1);
  hello.mutable_hello()->set_job_id("j");
  hello.mutable_hello()->set_boot_id("b");
  hello.mutable_hello()->set_start_unix_ns(1'700'000'000'000'000'000);
  update.mutable_update()->set_sequence(1);
  update.mutable_update()->set_promise_unix_ns(1'700'000'001'000'000'000);
  update.mutable_update()->set_phase("forward");
  auto* span = update.mutable_update()->add_spans();
  span->set_kind(client::v1::SPAN_KIND_STEP);
  span->set_start_unix_ns(1'700'000'000'500'000'000);
  span->set_duration_ns(100);
  span->set_step_plus_one(3);
  auto* value = update.mutable_update()->add_values();
  value->set_metric("train_loss");
  value->set_value(1);
  value->set_time_unix_ns(1'700'000'000'500'000'001);
  value->set_step_plus_one(3);
  value->set_mode("train");
  auto* promise = update.mutable_update()->add_step_promises();
  promise->set_mode("train");
  promise->set_below_step(3);
  goodbye.mutable_goodbye()->set_reason("completed");
  return {update.SerializeAsString(), hello.SerializeAsString(), goodbye.SerializeAsString()};
}

}  // namespace
}  // namespace pitwall

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_codec_corpus DIR\n");
    return 2;
  }
  const std::filesystem::path dir = argv[1];
  const bool written = pitwall::Write(dir / "telemetry", pitwall::TelemetrySeeds()) &&
                       pitwall::Write(dir / "state", pitwall::StateSeeds()) &&
                       pitwall::Write(dir / "client", pitwall::ClientSeeds());
  return written ? 0 : 1;
}
