#include "services/model/issues/capture.h"

#include <gtest/gtest.h>

namespace pitwall {
namespace {

CaptureLook LookIn(std::string_view phase, std::vector<std::string> frames = {"f (a.py:1)"}) {
  CaptureLook look;
  look.phase = phase;
  look.python = true;
  look.threads = {{1, "MainThread", true, std::move(frames), ""}};
  look.cpu_seconds = 10;
  look.io_bytes = 1000;
  return look;
}

CaptureState Judge(const CaptureLook& first, const CaptureLook& second) {
  return StateOf(first, second, ChangeBetween(first, second, 2.0));
}

TEST(CaptureState, NamesRoundTrip) {
  for (const CaptureState state :
       {CaptureState::kCollective, CaptureState::kLoader, CaptureState::kCheckpoint,
        CaptureState::kEvaluation, CaptureState::kBusy, CaptureState::kBlocked,
        CaptureState::kStopped})
    EXPECT_EQ(ParseCaptureState(CaptureStateName(state)), state);
  EXPECT_EQ(ParseCaptureState("asleep"), std::nullopt);
}

TEST(CaptureState, PhaseInBothObservationsDeterminesState) {
  EXPECT_EQ(Judge(LookIn("collective"), LookIn("collective")), CaptureState::kCollective);
  EXPECT_EQ(Judge(LookIn("dataloader"), LookIn("dataloader")), CaptureState::kLoader);
  EXPECT_EQ(Judge(LookIn("checkpoint"), LookIn("checkpoint")), CaptureState::kCheckpoint);
  EXPECT_EQ(Judge(LookIn("eval"), LookIn("eval")), CaptureState::kEvaluation);
  CaptureLook evaluation = LookIn("forward");
  evaluation.mode = "eval";
  EXPECT_EQ(Judge(evaluation, evaluation), CaptureState::kEvaluation);
  CaptureLook open = LookIn("backward");
  open.collective = OpenCollective{"default", "all_reduce", 7, 4096};
  EXPECT_EQ(Judge(open, open), CaptureState::kCollective);
}

TEST(CaptureState, PhaseChangeCountsAsWork) {
  EXPECT_EQ(Judge(LookIn("collective"), LookIn("forward")), CaptureState::kBusy);
  EXPECT_EQ(Judge(LookIn("forward"), LookIn("collective")), CaptureState::kBusy);
  EXPECT_EQ(Judge(LookIn("dataloader"), LookIn("checkpoint")), CaptureState::kBusy);
}

TEST(CaptureState, RankWithProgressIsNotStuck) {
  CaptureLook after = LookIn("forward");
  after.step_plus_one = 8;
  EXPECT_EQ(Judge(LookIn("forward"), after),
            CaptureState::kBusy);  // the stack has returned to the same line
  after.phase = "collective";
  EXPECT_EQ(Judge(LookIn("collective"), after), CaptureState::kBusy);
  after.phase = "dataloader";
  EXPECT_EQ(Judge(LookIn("dataloader"), after), CaptureState::kBusy);
  after.phase = "eval";
  EXPECT_EQ(Judge(LookIn("eval"), after), CaptureState::kEvaluation);
  after.phase = "checkpoint";
  EXPECT_EQ(Judge(LookIn("checkpoint"), after), CaptureState::kCheckpoint);
  CaptureLook one = LookIn("collective"), next = one;
  one.collective = OpenCollective{"default", "all_reduce", 7, 0};
  next.collective = OpenCollective{"default", "all_reduce", 8, 0};
  EXPECT_EQ(Judge(one, next), CaptureState::kBusy);
  next.collective->sequence = 0;  // unknown
  EXPECT_EQ(Judge(one, next), CaptureState::kCollective);
  // An observation by the operating system contains the client's last update, which is older than
  // the client's own observation.
  CaptureLook old = LookIn("forward");
  old.python = false;
  after = LookIn("forward");
  after.step_plus_one = 8;
  EXPECT_EQ(Judge(after, old), CaptureState::kBlocked);
}

TEST(CaptureState, UndeclaredPhasesAreReadFromStack) {
  const auto at = [](std::string_view file) {
    return LookIn("",
                  {"wait (x.py:1)", "call (/lib/" + std::string(file) + ":2)", "main (t.py:3)"});
  };
  EXPECT_EQ(Judge(at("torch/distributed/distributed_c10d.py"),
                  at("torch/distributed/distributed_c10d.py")),
            CaptureState::kCollective);
  EXPECT_EQ(Judge(at("torch/utils/data/dataloader.py"), at("torch/utils/data/dataloader.py")),
            CaptureState::kLoader);
  EXPECT_EQ(Judge(at("torch/serialization.py"), at("torch/serialization.py")),
            CaptureState::kCheckpoint);
}

TEST(CaptureState, StackCpuAndBytesDistinguishBusyFromBlocked) {
  const CaptureLook before = LookIn("forward");
  EXPECT_EQ(Judge(before, before), CaptureState::kBlocked);
  EXPECT_EQ(Judge(before, LookIn("forward", {"g (a.py:9)"})), CaptureState::kBusy);
  CaptureLook after = before;
  after.cpu_seconds = 10.09;  // 4.5% of a core
  EXPECT_EQ(Judge(before, after), CaptureState::kBlocked);
  after.cpu_seconds = 10.11;  // 5.5%
  EXPECT_EQ(Judge(before, after), CaptureState::kBusy);
  after = before;
  *after.io_bytes += kBlockedIoBytes - 1;
  EXPECT_EQ(Judge(before, after), CaptureState::kBlocked);
  *after.io_bytes += 1;
  EXPECT_EQ(Judge(before, after), CaptureState::kBusy);
}

TEST(CaptureState, StoppedTakesPrecedence) {
  CaptureLook stopped = LookIn("collective");
  stopped.stopped = true;
  EXPECT_EQ(Judge(stopped, stopped), CaptureState::kStopped);
  EXPECT_EQ(Judge(LookIn("collective"), stopped), CaptureState::kStopped);
  EXPECT_EQ(Judge(stopped, LookIn("forward")), CaptureState::kBlocked);
}

TEST(CaptureState, SystemStacksAreNotComparedWithPythonStacks) {
  const CaptureLook python = LookIn("forward");
  CaptureLook system = python;
  system.python = false;
  system.threads[0].frames = {"futex_wait_queue"};
  EXPECT_EQ(ChangeBetween(python, system, 2).same_stacks, std::nullopt);
  EXPECT_EQ(Judge(python, system), CaptureState::kBlocked);
}

TEST(CaptureState, DecreasedCountersAreNotProgress) {
  const CaptureLook before = LookIn("forward");
  CaptureLook after = before;
  after.cpu_seconds = 1;
  after.io_bytes = 1;
  const CaptureChange change = ChangeBetween(before, after, 2);
  EXPECT_EQ(change.cpu_share, 0);
  EXPECT_EQ(change.io_bytes, 0u);
  EXPECT_EQ(ChangeBetween(before, after, 0).cpu_share, 0);
}

}  // namespace
}  // namespace pitwall
