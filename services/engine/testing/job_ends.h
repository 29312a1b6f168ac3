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
  void Play(std::string_view script) { shard_.Play(script); }
  // Starts ranks 0 and 1 with a new boot ID. The node of each rank has the same number.
  void Boot(const std::string& boot, double at) {
    for (const int rank : {0, 1}) {
      Play(Cat("rank-", rank, "(boot=", boot, " start=", at, "s node=node-", rank,
               attempt_.has_value() ? Cat(" attempt=", *attempt_) : "", Owner(), ") beats @", at,
               "s"));
    }
  }
  void Stop(double at, std::string_view reason, std::string_view by = "") {
    Play(Cat("foreign:executor@n1(boot=", reason, Owner(), ") ",
             reason == kStopping ? "notice " : "ends ", reason,
             by.empty() ? "" : Cat(" ", kStoppedBy, "=\"", by, "\""), " @", at, "s"));
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
  std::string owner_;
  std::optional<uint64_t> attempt_;

 private:
  std::string Owner() const { return owner_.empty() ? "" : Cat(" owner=", owner_); }
};

}  // namespace pitwall::engine
