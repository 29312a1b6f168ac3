#include "services/notifier/delivery/read_marks.h"

#include <gtest/gtest.h>

#include <string>

namespace pitwall::notifier {
namespace {

class ReadMarksTest : public ::testing::Test {
 protected:
  static LogFingerprint Mark(int64_t offset, int64_t append_time_ns) {
    return {offset, AppendTime::FromNs(append_time_ns)};
  }
  // Returns the mark that is stored with the position.
  std::string Deliver(int64_t position) { return EncodeLogMark(marks_.Deliver(position)); }

  ReadMarks marks_;
};

TEST_F(ReadMarksTest, FirstStartHasNoMark) {
  EXPECT_EQ(marks_.state(), MarkState::kNone);
  EXPECT_EQ(Deliver(7), "mark=-1@0");
  EXPECT_EQ(marks_.state(), MarkState::kNone);
}

TEST_F(ReadMarksTest, RestoreContinuesInTheStoredState) {
  marks_.Restore(ParseLogMark("mark=3@50"));
  EXPECT_EQ(marks_.state(), MarkState::kInLog);
  EXPECT_EQ(Deliver(4), "mark=3@50");
  marks_.Restore(ParseLogMark("mark=-1@50"));
  EXPECT_EQ(marks_.state(), MarkState::kInFormerLog);
  EXPECT_EQ(Deliver(4), "mark=-1@50");
  marks_.Restore(ParseLogMark(""));
  EXPECT_EQ(marks_.state(), MarkState::kNone);
  EXPECT_EQ(Deliver(4), "mark=-1@0");
}

TEST_F(ReadMarksTest, RestoreForgetsOtherMarks) {
  marks_.OnRead(Mark(5, 60));
  marks_.Restore(Mark(3, 50));
  EXPECT_EQ(marks_.newest().offset, 3);
  EXPECT_EQ(Deliver(9), "mark=3@50");
}

TEST_F(ReadMarksTest, RecordIsTheMarkOfAPositionAfterIt) {
  marks_.OnRead(Mark(3, 50));
  marks_.OnRead(Mark(6, 60));
  EXPECT_EQ(marks_.state(), MarkState::kNone);
  EXPECT_EQ(Deliver(3), "mark=-1@0");
  EXPECT_EQ(marks_.state(), MarkState::kNone);
  EXPECT_EQ(Deliver(4), "mark=3@50");
  EXPECT_EQ(marks_.state(), MarkState::kInLog);
  EXPECT_EQ(Deliver(6), "mark=3@50");
  EXPECT_EQ(Deliver(9), "mark=6@60");
  EXPECT_EQ(marks_.state(), MarkState::kInLog);
}

TEST_F(ReadMarksTest, RecordThatIsReadAgainIsIgnored) {
  marks_.Restore(Mark(6, 60));
  marks_.OnRead(Mark(3, 99));
  marks_.OnRead(Mark(6, 99));
  EXPECT_EQ(Deliver(9), "mark=6@60");
}

TEST_F(ReadMarksTest, BacklogKeepsTheOldestMarksAndTheNewest) {
  const auto count = static_cast<int64_t>(ReadMarks::kMaxMarks);
  for (int64_t offset = 0; offset < count + 2; ++offset) marks_.OnRead(Mark(offset, 50 + offset));
  EXPECT_EQ(marks_.newest().offset, count + 1);
  EXPECT_EQ(Deliver(count - 1), EncodeLogMark(Mark(count - 2, 48 + count)));
  EXPECT_EQ(Deliver(count + 1), EncodeLogMark(Mark(count - 2, 48 + count)));
  EXPECT_EQ(Deliver(count + 2), EncodeLogMark(Mark(count + 1, 51 + count)));
}

TEST_F(ReadMarksTest, ReplacedLogKeepsTheNewestAppendTime) {
  marks_.Restore(Mark(3, 50));
  marks_.OnRead(Mark(6, 60));
  marks_.Replace();
  EXPECT_EQ(marks_.state(), MarkState::kInFormerLog);
  EXPECT_EQ(Deliver(0), "mark=-1@60");
  marks_.OnRead(Mark(0, 70));
  EXPECT_EQ(marks_.state(), MarkState::kInFormerLog);
  EXPECT_EQ(Deliver(1), "mark=0@70");
  EXPECT_EQ(marks_.state(), MarkState::kInLog);
}

TEST_F(ReadMarksTest, LogReplacedTwiceKeepsTheAppendTime) {
  marks_.Restore(Mark(3, 50));
  marks_.Replace();
  marks_.Replace();
  EXPECT_EQ(marks_.state(), MarkState::kInFormerLog);
  EXPECT_EQ(Deliver(0), "mark=-1@50");
}

TEST_F(ReadMarksTest, LogReplacedBeforeTheFirstRecordHasNoMark) {
  marks_.Replace();
  EXPECT_EQ(marks_.state(), MarkState::kNone);
  EXPECT_EQ(Deliver(0), "mark=-1@0");
}

}  // namespace
}  // namespace pitwall::notifier
