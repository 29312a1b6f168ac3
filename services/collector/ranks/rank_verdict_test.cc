// Tests verdicts on rank ends for every combination of goodbye and exit status.
#include "services/collector/ranks/rank_verdict.h"

#include <gtest/gtest.h>

#include <ostream>

#include "services/base/text/strings.h"

namespace pitwall::collector {
namespace {

ProcessEnd Code(int32_t code) { return {.signal = {}, .exit_code = code}; }
ProcessEnd Signal(int32_t signal) { return {.signal = signal, .exit_code = {}}; }

Farewell Exiting(std::string reason, std::string exception = "") {
  return {.reason = std::move(reason),
          .exception = std::move(exception),
          .exiting = true,
          .exit_status = {}};
}

Farewell Finished(std::string reason) {
  Farewell farewell = Exiting(std::move(reason));
  farewell.exiting = false;
  return farewell;
}

// Returns a verdict such as "orderly completed", "failed code 3", or "died signal 9".
std::string Verdict(const Farewell* farewell, const ProcessEnd& end,
                    std::optional<bool> loop_open = std::nullopt) {
  const RankVerdict verdict = JudgeEnd(farewell, end, loop_open);
  if (verdict.kind == RankVerdict::Kind::kOrderly) return Cat("orderly ", verdict.reason);
  std::string text = verdict.kind == RankVerdict::Kind::kFailed ? "failed" : "died";
  if (verdict.end.signal.has_value()) CatTo(text, " signal ", *verdict.end.signal);
  if (verdict.end.exit_code.has_value()) CatTo(text, " code ", *verdict.end.exit_code);
  return text;
}

std::string Verdict(const Farewell& farewell, const ProcessEnd& end,
                    std::optional<bool> loop_open = std::nullopt) {
  return Verdict(&farewell, end, loop_open);
}

TEST(RankVerdict, StatusZeroWithoutGoodbye_IsOrderlyOutsideLoops) {
  EXPECT_EQ(Verdict(nullptr, Code(0)), "orderly completed");
  EXPECT_EQ(Verdict(nullptr, Code(0), false), "orderly completed");
  EXPECT_EQ(Verdict(nullptr, Code(0), true), "died code 0");
}

TEST(RankVerdict, OtherStatusWithoutGoodbye_IsDeath) {
  for (const std::optional<bool> open : {std::optional<bool>(), {false}, {true}}) {
    EXPECT_EQ(Verdict(nullptr, Code(3), open), "died code 3");
    EXPECT_EQ(Verdict(nullptr, Signal(9), open), "died signal 9");
    EXPECT_EQ(Verdict(nullptr, {}, open), "died");
  }
}

TEST(RankVerdict, NonzeroStatus_OverridesAnyGoodbye) {
  for (const char* reason : {"completed", "failed", "cancelled"}) {
    EXPECT_EQ(Verdict(Exiting(reason), Code(3)), "failed code 3") << reason;
    EXPECT_EQ(Verdict(Finished(reason), Code(3)), "failed code 3") << reason;
    EXPECT_EQ(Verdict(Exiting(reason), Signal(11)), "failed signal 11") << reason;
  }
}

TEST(RankVerdict, InterruptAfterCancellation_StaysCancellation) {
  for (const ProcessEnd& end : {Signal(2), Signal(15), Code(130), Code(143)})
    EXPECT_EQ(Verdict(Exiting("cancelled"), end), "orderly cancelled");
  EXPECT_EQ(Verdict(Exiting("completed"), Signal(15)), "failed signal 15");
}

TEST(RankVerdict, StatusZero_ClearsFailureThatProgramHandled) {
  EXPECT_EQ(Verdict(Exiting("failed"), Code(0)), "orderly completed");
  EXPECT_EQ(Verdict(Exiting("failed", "KeyError: 'lr'"), Code(0)), "failed code 0");
  EXPECT_EQ(Verdict(Finished("failed"), Code(0)), "failed code 0");  // declared by the program
  EXPECT_EQ(Verdict(Exiting("cancelled"), Code(0)), "orderly cancelled");
  EXPECT_EQ(Verdict(Exiting("completed"), Code(0), true), "orderly completed");
}

TEST(RankVerdict, UnknownStatus_GoodbyeDeterminesVerdict) {
  EXPECT_EQ(Verdict(Exiting("completed"), {}), "orderly completed");
  EXPECT_EQ(Verdict(Exiting("failed"), {}), "failed");
  EXPECT_EQ(Verdict(Finished(""), {}), "orderly ");
  // An exception counts only when the process exits, because a program may call finish() in an
  // exception handler.
  EXPECT_EQ(Verdict(Exiting("completed", "KeyError: 'lr'"), {}), "failed");
  EXPECT_EQ(Verdict(Exiting("completed", "KeyError: 'lr'"), Code(0)), "orderly completed");
}

TEST(RankVerdict, ImmediateExit_IsJudgedByReportedStatus) {
  Farewell farewell = Exiting("");
  farewell.exit_status = 0;
  EXPECT_EQ(Verdict(farewell, {}, false), "orderly completed");
  EXPECT_EQ(Verdict(farewell, {}, true), "died code 0");
  farewell.exit_status = 3;
  EXPECT_EQ(Verdict(farewell, {}, false), "died code 3");
  EXPECT_EQ(Verdict(farewell, Signal(9), false), "died signal 9");
}

}  // namespace
}  // namespace pitwall::collector
