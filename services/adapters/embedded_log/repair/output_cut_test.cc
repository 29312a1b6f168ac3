// Tests for repairs after the end of the journal has been lost. Only outputs after the group's
// newest remaining position may be cut.
#include <gtest/gtest.h>

#include "services/adapters/embedded_log/format/commit_frame.h"
#include "services/adapters/embedded_log/repair/log_repair.h"
#include "services/adapters/embedded_log/testing/log_test_fixture.h"

namespace pitwall::log {
namespace {

class OutputCutTest : public EmbeddedLogTest {
 protected:
  static constexpr int kCommits = 12;
  static constexpr int kLeft = 5;  // maker commits that remain in the cut journal

  // Writes an input of kCommits records. The maker group writes two outputs for each record, and
  // the judge group writes one decision for each event.
  void Fill(bool compact = false) {
    options_.segment_bytes = 400;
    options_.compress = false;
    MustOpen();
    Topic("input");
    Topic("events");
    Topic("state", 1, /*compacted=*/true);
    Topic("decisions");
    for (int i = 0; i < kCommits; ++i) Append({Out("input", Cat("input ", i))});
    auto maker = log_->OpenCommitter("maker-0");
    auto judge = log_->OpenCommitter("judge-0");
    ASSERT_TRUE(maker.ok() && judge.ok());
    for (int i = 0; i < kCommits; ++i) {
      if (i == kLeft) cut_at_ = Slurp(Journal()).size();
      const Status made = (*maker)->Apply(
          {.group = "maker",
           .input = {"input", 0},
           .next_offset = i + 1,
           .metadata = Cat(i),
           .outputs = {Out("events", Cat("event ", i)), Out("state", std::string(60, 's'), "k")}});
      ASSERT_TRUE(made.ok()) << made;
      const Status judged = (*judge)->Apply({.group = "judge",
                                             .input = {"events", 0},
                                             .next_offset = i + 1,
                                             .metadata = "",
                                             .outputs = {Out("decisions", Cat("decision ", i))}});
      ASSERT_TRUE(judged.ok()) << judged;
    }
    if (compact) {
      ASSERT_TRUE(log_->Maintain().ok());
    }
    log_.reset();
  }
  void CutJournal() {
    const std::string path = Journal();
    Spill(path, Slurp(path).substr(0, cut_at_));
  }
  LogRepair MustRepair(int64_t needed, bool dry_run = false) {
    const DerivedOutputs derived{
        .group = "maker",
        .input = "input",
        .outputs = {"events", "state"},
        .needs_from = [needed](const CommittedOffset&) -> StatusOr<int64_t> { return needed; }};
    auto repaired = RepairLog(options_.dir, dry_run, &clock_, {derived});
    EXPECT_TRUE(repaired.ok()) << repaired.status();
    return repaired.ok() ? *std::move(repaired) : LogRepair();
  }
  static std::vector<std::string> Numbered(std::string_view what, int count) {
    std::vector<std::string> values;
    for (int i = 0; i < count; ++i) values.push_back(Cat(what, " ", i));
    return values;
  }
  static bool ReportContains(const LogRepair& repair, std::string_view part) {
    for (const std::string& line : repair.done) {
      if (line.find(part) != std::string::npos) return true;
    }
    return false;
  }

  size_t cut_at_ = 0;
};

TEST_F(OutputCutTest, CutsOnlyOutputsAfterPosition) {
  Fill();
  CutJournal();
  const std::string before = Slurp(Segments("events").back());
  const LogRepair dry = MustRepair(0, /*dry_run=*/true);
  EXPECT_TRUE(ReportContains(dry, "events/0: cut at offset 5 of 12"));
  EXPECT_EQ(Slurp(Segments("events").back()), before);
  const LogRepair repair = MustRepair(0);
  EXPECT_TRUE(ReportContains(repair, "events/0: cut at offset 5 of 12"));
  EXPECT_EQ(repair.done, dry.done);
  for (const std::string& path : repair.quarantine) EXPECT_TRUE(files::Exists(path)) << path;
  EXPECT_TRUE(MustRepair(0).done.empty()) << "a second repair has nothing to do";
  for (int life = 0; life < 2; ++life) {
    MustOpen();
    EXPECT_EQ((*log_->Committed("maker", {"input", 0}))->offset, kLeft);
    EXPECT_EQ(Values("input"), Numbered("input", kCommits));
    EXPECT_EQ(Values("events"), Numbered("event", kLeft));
    EXPECT_EQ(ReadAll("state").records.size(), size_t{kLeft});
    EXPECT_EQ(Values("decisions"), Numbered("decision", kCommits)) << "all decisions must be kept";
  }
  // New offsets continue at the cut.
  Append({Out("events", "event 5")});
  EXPECT_EQ(Values("events"), Numbered("event", kLeft + 1));
  MustOpen();
  EXPECT_EQ(Values("events"), Numbered("event", kLeft + 1));
}

// The journal is lost a second time. The cut records must not reappear.
TEST_F(OutputCutTest, CutRecordsStayCutAfterSecondRepair) {
  Fill();
  CutJournal();
  (void)MustRepair(0);
  ASSERT_TRUE(files::Remove(Journal()).ok());
  (void)MustRepair(0);
  MustOpen();
  EXPECT_EQ(Values("events"), Numbered("event", kLeft));
}

TEST_F(OutputCutTest, MissingInput_KeepsOutputs) {
  Fill();
  CutJournal();
  ASSERT_TRUE(files::Remove(Segments("input")[0]).ok());
  const LogRepair repair = MustRepair(0);
  EXPECT_TRUE(ReportContains(repair, "events/0: offsets 5 to 11 are kept"));
  MustOpen();
  EXPECT_EQ(Values("events"), Numbered("event", kCommits));
}

// Newer state replaced older state in a compaction, so the state can be reproduced only if the
// input is complete.
TEST_F(OutputCutTest, StateIsCompacted_CutRequiresCompleteInput) {
  for (const bool whole : {true, false}) {
    log_.reset();
    EXPECT_TRUE(files::RemoveTree(options_.dir).ok());
    Fill(/*compact=*/true);
    CutJournal();
    bool compacted = false;
    for (const std::string& path : Segments("state")) {
      compacted = compacted || path.find('-', path.rfind('/')) != std::string::npos;
    }
    ASSERT_TRUE(compacted);
    if (!whole) {
      ASSERT_TRUE(files::Remove(Segments("input")[0]).ok());
    }
    const LogRepair repair = MustRepair(kLeft);
    MustOpen();
    EXPECT_EQ(Values("events"), Numbered("event", whole ? kLeft : kCommits)) << whole;
    const Readout state = ReadAll("state");
    if (whole) {
      EXPECT_TRUE(state.records.empty() || state.records.back().offset < kLeft);
    } else {
      EXPECT_EQ(state.records.back().offset, kCommits - 1);
    }
    EXPECT_TRUE(ReportContains(repair, whole ? "state/0: cut at" : "state/0: offsets")) << whole;
  }
}

}  // namespace
}  // namespace pitwall::log
