// Test helper: a job with two ranks on two nodes. The test controls how the ranks end.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/time.h"
#include "services/engine/testing/engine_feed.h"
#include "services/model/issues/job_end.h"

namespace pitwall::engine {

inline constexpr char kEndRules[] = R"rules(
groups:
- name: g
  interval: 1s
  rules:
  - {alert: High, expr: "m > 0.5"}
)rules";

class JobEnds : public ::testing::Test {
 protected:
  explicit JobEnds(std::string_view rules = kEndRules) : shard_(rules) {}
  // Sends a batch from the rank with a promise for the time `at`. The rank's node has the same
  // number.
  void Send(int64_t rank, double at, std::optional<JobEvent::Kind> event = std::nullopt,
            bool goodbye = false, std::optional<int32_t> signal = std::nullopt) {
    Batch batch;
    batch.source = Cat("rank-", rank);
    batch.boot_id = boot_;
    batch.info.kind = SourceKind::kRank;
    batch.info.node = Cat("node-", rank);
    batch.info.rank = rank;
    batch.info.start = EventTime::FromNs(ShardForTest::At(start_));
    batch.info.attempt = attempt_;
    batch.owner = owner_;
    batch.goodbye = goodbye;
    if (event.has_value()) {
      JobEvent happened;
      happened.kind = *event;
      happened.time = EventTime::FromNs(ShardForTest::At(at));
      if (*event == JobEvent::Kind::kRankLost) {
        happened.rank_lost.rank = rank;
        happened.rank_lost.source = batch.source;
        happened.rank_lost.boot_id = batch.boot_id;
        happened.rank_lost.signal = signal;
      }
      batch.events.push_back(happened);
    }
    shard_.Feed(batch, at);
  }
  void Lose(int64_t rank, double at, std::optional<int32_t> signal = std::nullopt) {
    Send(rank, at, JobEvent::Kind::kRankLost, /*goodbye=*/false, signal);
  }
  void Boot(const std::string& boot, double at) {
    boot_ = boot;
    start_ = at;
    for (int64_t rank : {0, 1}) Send(rank, at);
  }
  void Stop(double at, std::string_view reason, std::string by = "") {
    Batch batch;
    batch.source = "executor@n1";
    batch.boot_id = reason;
    batch.owner = owner_;
    batch.info.kind = SourceKind::kForeign;
    JobEvent ended;
    ended.kind = reason == kStopping ? JobEvent::Kind::kNotice : JobEvent::Kind::kEnded;
    ended.time = EventTime::FromNs(ShardForTest::At(at));
    ended.reason = reason;
    if (!by.empty()) ended.labels.push_back({std::string(kStoppedBy), std::move(by)});
    batch.events.push_back(ended);
    shard_.Feed(batch, at);
  }
  void Ticks(int n) {
    shard_.SetAppendTime(1000);
    for (int i = 0; i < n; ++i) shard_.Tick();
    shard_.SetAppendTime(-1);
  }
  // Returns "<second> <attempt> <change> <detail>[ rank]" for each change so far.
  std::vector<std::string> Changes() const {
    std::vector<std::string> out;
    for (const IssueEvent& e : shard_.outputs().events) {
      if (e.type != EventType::kJobChanged) continue;
      out.push_back(Cat((e.time.ns() - ShardForTest::kBase) / kNanosPerSecond, " ", e.attempt, " ",
                        JobChangeName(e.job_change), " ", EndDetailName(e.end_detail),
                        e.lost_rank ? Cat(" ", e.lost_rank->rank, "@", e.lost_rank->node) : ""));
    }
    return out;
  }

  ShardForTest shard_;
  std::string boot_ = "one";
  std::string owner_;
  double start_ = 1;
  std::optional<uint64_t> attempt_;
};

}  // namespace pitwall::engine
