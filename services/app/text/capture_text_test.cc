#include "services/app/text/capture_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pitwall {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

RankCapture Waiting(int64_t rank) {
  RankCapture c;
  c.request = "r";
  c.principal = "uid:1000";
  c.job = "job-1";
  c.job_name = "train";
  c.rank = rank;
  c.world_size = 4;
  c.node = "n1";
  c.pid = 100 + rank;
  c.time = EventTime::FromNs(1'767'225'600'000'000'000);
  c.state = CaptureState::kCollective;
  c.source = "client";
  c.look.step_plus_one = 42;
  c.look.python = true;
  c.look.phase = "backward";
  c.look.mode = "train";
  c.look.collective = OpenCollective{"default", "all_reduce", 137, 4096};
  c.look.threads = {{7, "MainThread", true, {"all_reduce (d.py:1)", "main (t.py:2)"}, "sleeping"}};
  c.change = {.cpu_share = 0.034, .io_bytes = 12, .same_stacks = true};
  return c;
}

RankCapture Stopped(int64_t rank) {
  RankCapture c = Waiting(rank);
  c.state = CaptureState::kStopped;
  c.source = "system";
  c.why_system = "the process is stopped, so its client cannot respond";
  c.look.python = false;
  c.look.collective.reset();
  c.look.threads = {{9, "python", true, {}, "stopped"}};
  c.change = {};
  return c;
}

TEST(CaptureLines, CaptureText_SameStacks_GroupsRanks) {
  EXPECT_EQ(CaptureText({Waiting(3), Waiting(0), Stopped(1), Waiting(2)}, {}),
            "job train, captured at 2026-01-01T00:00:00.000Z, requested by uid:1000\n"
            "ranks 0, 2, 3: collective, by its client\n"
            "  rank 0 on n1, pid 100, step 41, phase backward, in all_reduce #137 of group "
            "default, 4 KiB; CPU 3% of a core, 12 B read and written, stacks did not change\n"
            "  rank 2 on n1, pid 102, step 41, phase backward, in all_reduce #137 of group "
            "default, 4 KiB; CPU 3% of a core, 12 B read and written, stacks did not change\n"
            "  rank 3 on n1, pid 103, step 41, phase backward, in all_reduce #137 of group "
            "default, 4 KiB; CPU 3% of a core, 12 B read and written, stacks did not change\n"
            "    thread MainThread: sleeping\n"
            "      all_reduce (d.py:1)\n"
            "      main (t.py:2)\n"
            "rank 1: stopped, by the system: the process is stopped, so its client cannot respond\n"
            "  rank 1 on n1, pid 101, step 41, phase backward; CPU 0% of a core, bytes read and "
            "written are unknown\n"
            "    thread python: stopped");
}

TEST(CaptureLines, CaptureText_MissingRank_IsListed) {
  EXPECT_THAT(MissingRanks({Waiting(0), Waiting(2)}, {}), ElementsAre(1, 3));
  EXPECT_THAT(MissingRanks({Waiting(0), Waiting(2)}, {2, 9, 9}), ElementsAre(9));
  EXPECT_THAT(MissingRanks({Waiting(0)}, {0}), IsEmpty());
  EXPECT_THAT(MissingRanks({}, {}), IsEmpty());
  EXPECT_THAT(CaptureText({Waiting(0), Waiting(2)}, {}), HasSubstr("\nranks 1, 3: no reply; "));
  EXPECT_THAT(CaptureText({}, {5}), HasSubstr("rank 5: no reply"));
  EXPECT_THAT(CaptureText({Waiting(0)}, {0}), Not(HasSubstr("no reply")));
  RankCapture invalid = Waiting(0);
  invalid.world_size = INT64_MAX;  // the result must be bounded even for an invalid world size
  EXPECT_LE(MissingRanks({invalid}, {}).size(), size_t{1} << 20);
}

TEST(CaptureLines, RanksText_ConsecutiveRanks_ArePrintedAsRange) {
  EXPECT_EQ(RanksText({5, 4, 6, 7, 0, 2, 9, 10}), "0, 2, 4-7, 9, 10");
  EXPECT_EQ(RanksText({}), "");
}

TEST(CaptureLines, NewestOfRanks_SeveralCapturesPerRank_KeepsNewest) {
  RankCapture later = Stopped(0);
  later.time += Duration::Nanos(1);
  const auto newest = NewestOfRanks({Waiting(0), later, Waiting(1)});
  ASSERT_EQ(newest.size(), 2u);
  EXPECT_EQ(newest[0].state, CaptureState::kStopped);
}

TEST(CaptureLines, CaptureText_ControlCharacters_AreEscaped) {
  RankCapture evil = Waiting(0);
  evil.job_name = "a\x1b[2J";
  evil.look.phase = "x\ny";
  evil.look.collective->operation = "\x1b]0;t\x07";
  evil.look.threads[0].name = "n\rm";
  evil.look.threads[0].frames = {"f\x1b[31m (a:1)\nrank 9: blocked"};
  evil.operators = {"o\x1b[0m"};
  const std::string text = CaptureText({evil}, {0});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\r'), std::string::npos);
  EXPECT_EQ(text.find("\nrank 9"), std::string::npos);
  EXPECT_THAT(text, HasSubstr("operators of the last profile"));
}

}  // namespace
}  // namespace pitwall
