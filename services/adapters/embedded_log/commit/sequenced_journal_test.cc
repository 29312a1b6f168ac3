// Tests for the commit journal's sequence numbers.
#include "services/adapters/embedded_log/commit/sequenced_journal.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/adapters/embedded_log/testing/log_test_fixture.h"

namespace pitwall::log {
namespace {

class SequencedJournalTest : public EmbeddedLogTest {
 protected:
  SequencedJournalTest() {
    EXPECT_TRUE(files::MakeDirectories(Dir("commits")).ok());
    auto journal = CommitJournal::Open(Dir("commits"), 0, 0, 0, /*flush=*/false, options_.faults);
    EXPECT_TRUE(journal.ok()) << journal.status();
    journal_.emplace(*std::move(journal), 0);
  }
  // Returns the encoded commit frame with this sequence.
  static std::string CommitFrame(uint64_t sequence) {
    Frame frame;
    frame.sequence = sequence;
    std::string bytes;
    EXPECT_TRUE(EncodeFrame(frame, &bytes).ok());
    return bytes;
  }
  std::vector<Frame> Frames() const {
    const auto loaded = LoadJournal(Dir("commits"));
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    std::vector<Frame> frames;
    for (ScannedFrame& scanned : ScanJournal(loaded->content).frames) {
      frames.push_back(std::move(scanned.frame));
    }
    return frames;
  }

  std::optional<SequencedJournal> journal_;
};

TEST_F(SequencedJournalTest, FactsGetSequenceAfterCommits) {
  ASSERT_TRUE(journal_->Append(CommitFrame(1)).ok());
  journal_->NoteCommits(1, /*durable=*/false);
  ASSERT_TRUE(journal_->AppendFacts({}).ok());
  EXPECT_EQ(journal_->sequence(), 2u);
  EXPECT_EQ(journal_->commit_sequence(), 1u);
  EXPECT_EQ(Frames().back().kind, FrameKind::kSynced);
  EXPECT_EQ(Frames().back().sequence, 2u);
}

TEST_F(SequencedJournalTest, MarkAppendsOneFramePerSequence) {
  ASSERT_TRUE(journal_->Append(CommitFrame(1)).ok());
  journal_->NoteCommits(1, /*durable=*/false);
  const size_t before = Frames().size();
  ASSERT_TRUE(journal_->MarkSynced(1, /*durable=*/false).ok());
  ASSERT_TRUE(journal_->MarkSynced(1, /*durable=*/false).ok());
  EXPECT_EQ(Frames().size(), before + 1);
  EXPECT_EQ(journal_->synced_sequence(), 1u);
  EXPECT_FALSE(journal_->AllMarked());  // the frame of the mark itself may not be on disk
  ASSERT_TRUE(journal_->MarkSynced(1, /*durable=*/true).ok());
  EXPECT_TRUE(journal_->AllMarked());
}

TEST_F(SequencedJournalTest, FailedDurableAppendLeavesNoFrame) {
  const size_t before = Frames().size();
  options_.faults->FailSyncs(true);
  EXPECT_FALSE(journal_->AppendDurably(CommitFrame(1)).ok());
  EXPECT_EQ(Frames().size(), before);
  EXPECT_EQ(journal_->failed_flushes(), 1);
  EXPECT_FALSE(journal_->distrusted().ok());
}

TEST_F(SequencedJournalTest, FailedFlushOfReplacedFileIsIgnored) {
  const std::shared_ptr<files::File> old = journal_->file();
  Frame end;
  end.kind = FrameKind::kCheckpointEnd;
  ASSERT_TRUE(journal_->Checkpoint({end}).ok());
  journal_->NoteFlush(old, Unavailable("failed"));
  EXPECT_TRUE(journal_->distrusted().ok());
  journal_->NoteFlush(journal_->file(), Unavailable("failed"));
  EXPECT_FALSE(journal_->distrusted().ok());
  EXPECT_EQ(journal_->failed_flushes(), 2);
}

}  // namespace
}  // namespace pitwall::log
