// Contract tests for transactions, fencing, and group positions.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "services/base/text/strings.h"
#include "tests/contract/log_contract.h"

namespace pitwall::contract {

void LinkLogContractCommits() {}

TEST_P(LogContract, CommitMakesOutputsAndPositionVisible) {
  const std::string in = Topic("in");
  const std::string out = Topic("out", 3);
  Append({Out(in, 0, "k", "x"), Out(in, 0, "k", "y")});
  const auto input = Reader({in, 0});
  const std::vector<Record> consumed = Read(input.get(), 2);
  ASSERT_EQ(consumed.size(), 2U);
  const std::string group = Cat("group-", in);
  const auto never = log()->Committed(group, {in, 0});
  ASSERT_TRUE(never.ok()) << never.status();
  EXPECT_FALSE(never->has_value());

  const auto committer = NewCommitter(Cat("tx-", in));
  Commit commit;
  commit.group = group;
  commit.input = {in, 0};
  commit.next_offset = consumed[1].offset + 1;
  commit.metadata = "L=17";
  commit.outputs = {Out(out, 0, "k", "a"), Out(out, 2, "k", "b"), Out(out, 0, "k", "c")};
  const Status applied = committer->Apply(commit);
  ASSERT_TRUE(applied.ok()) << applied;
  ExpectCommitted(group, {in, 0}, consumed[1].offset + 1, "L=17");
  EXPECT_EQ(Values({out, 0}, 2), (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(Values({out, 1}, 0), (std::vector<std::string>{}));
  EXPECT_EQ(Values({out, 2}, 1), (std::vector<std::string>{"b"}));
}

TEST_P(LogContract, CommitMayWriteOutputsToInputTopic) {
  const std::string topic = Topic("own");
  Append({Out(topic, 0, "k", "frame")});
  const auto reader = Reader({topic, 0});
  const std::vector<Record> consumed = Read(reader.get(), 1);
  ASSERT_EQ(consumed.size(), 1U);
  const auto committer = NewCommitter(Cat("tx-", topic));
  const std::string group = Cat("group-", topic);
  for (int tick = 0; tick < 3; ++tick) {
    Commit commit;
    commit.group = group;
    commit.input = {topic, 0};
    commit.next_offset = reader->position();
    commit.outputs = {Out(topic, 0, "__control", Cat("tick", tick))};
    const int64_t committed = commit.next_offset;
    const Status applied = committer->Apply(commit);
    ASSERT_TRUE(applied.ok()) << applied;
    ExpectCommitted(group, {topic, 0}, committed, "");
    const std::vector<Record> back = Read(reader.get(), 1);
    ASSERT_EQ(back.size(), 1U);
    EXPECT_EQ(back[0].value, Cat("tick", tick));
    EXPECT_GE(back[0].offset, committed) << "a commit appends after the records that it consumed";
  }
}

TEST_P(LogContract, CommitMayContainOnlyOutputsOrOnlyPosition) {
  const std::string in = Topic("in");
  const std::string out = Topic("out");
  const std::string group = Cat("group-", in);
  const auto committer = NewCommitter(Cat("tx-", in));
  Commit outputs;
  outputs.group = group;
  outputs.input = {in, 0};
  outputs.outputs = {Out(out, 0, "k", "a")};
  ASSERT_TRUE(committer->Apply(outputs).ok());
  EXPECT_EQ(Values({out, 0}, 1), (std::vector<std::string>{"a"}));
  const auto none = log()->Committed(group, {in, 0});
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_FALSE(none->has_value());

  Append({Out(in, 0, "k", "x")});
  Commit position;
  position.group = group;
  position.input = {in, 0};
  position.next_offset = 1;
  position.metadata = std::string(4096, 'm');
  const Status applied = committer->Apply(position);
  ASSERT_TRUE(applied.ok()) << applied;
  ExpectCommitted(group, {in, 0}, 1, std::string(4096, 'm'));
  EXPECT_EQ(Values({out, 0}, 1), (std::vector<std::string>{"a"}));
}

TEST_P(LogContract, FailedCommitHasNoEffectAndCanBeRetried) {
  const std::string in = Topic("in");
  const std::string out = Topic("out", 2);
  const std::string group = Cat("group-", in);
  const auto committer = NewCommitter(Cat("tx-", in));
  Append({Out(in, 0, "k", "x")});
  Commit commit;
  commit.group = group;
  commit.input = {in, 0};
  commit.next_offset = 1;
  commit.outputs = {Out(out, 0, "k", "a"), Out(out, 7, "k", "no such partition"),
                    Out(out, 1, "k", "b")};
  EXPECT_FALSE(committer->Apply(commit).ok());
  const auto none = log()->Committed(group, {in, 0});
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_FALSE(none->has_value());

  commit.outputs[1].partition = 1;
  commit.outputs[1].value = "now valid";
  const Status again = committer->Apply(commit);
  ASSERT_TRUE(again.ok()) << again;
  EXPECT_EQ(Values({out, 0}, 1), (std::vector<std::string>{"a"}));
  EXPECT_EQ(Values({out, 1}, 2), (std::vector<std::string>{"now valid", "b"}));
  ExpectCommitted(group, {in, 0}, 1, "");
}

TEST_P(LogContract, MetadataBeyondFourKiBIsRejected) {
  const std::string in = Topic("in");
  const auto committer = NewCommitter(Cat("tx-", in));
  Append({Out(in, 0, "k", "x")});
  Commit commit;
  commit.group = Cat("group-", in);
  commit.input = {in, 0};
  commit.next_offset = 1;
  commit.metadata = std::string(4097, 'm');
  EXPECT_FALSE(committer->Apply(commit).ok());
  commit.metadata.clear();
  const Status again = committer->Apply(commit);
  EXPECT_TRUE(again.ok()) << again;
}

TEST_P(LogContract, NewCommitterFencesTheOldOne) {
  const std::string in = Topic("in");
  const std::string out = Topic("out");
  const std::string id = Cat("tx-", in);
  const std::string group = Cat("group-", in);
  Append({Out(in, 0, "k", "x"), Out(in, 0, "k", "y")});
  const auto first = NewCommitter(id);
  Commit commit;
  commit.group = group;
  commit.input = {in, 0};
  commit.next_offset = 1;
  commit.outputs = {Out(out, 0, "k", "first")};
  ASSERT_TRUE(first->Apply(commit).ok());

  const auto second = NewCommitter(id);
  const auto stranger = NewCommitter(Cat(id, "-other"));
  commit.next_offset = 2;
  commit.outputs = {Out(out, 0, "k", "zombie")};
  const Status fenced = first->Apply(commit);
  EXPECT_EQ(fenced.code(), absl::StatusCode::kAborted) << fenced;
  EXPECT_EQ(first->Apply(commit).code(), absl::StatusCode::kAborted) << "fenced permanently";
  commit.outputs = {Out(out, 0, "k", "second")};
  const Status applied = second->Apply(commit);
  ASSERT_TRUE(applied.ok()) << applied;
  commit.group = Cat(group, "-other");
  commit.outputs = {Out(out, 0, "k", "stranger")};
  const Status strange = stranger->Apply(commit);
  ASSERT_TRUE(strange.ok()) << strange;
  EXPECT_EQ(Values({out, 0}, 3), (std::vector<std::string>{"first", "second", "stranger"}));
  ExpectCommitted(group, {in, 0}, 2, "");
}

TEST_P(LogContract, PositionsAreSeparatePerGroupAndPartition) {
  const std::string topic = Topic("positions", 2);
  Append({Out(topic, 0, "k", "x"), Out(topic, 0, "k", "y"), Out(topic, 1, "k", "z")});
  const std::string a = Cat("a-", topic);
  const std::string b = Cat("b-", topic);
  ASSERT_TRUE(log()->StorePosition(a, {topic, 0}, {1, "one"}).ok());
  ASSERT_TRUE(log()->StorePosition(a, {topic, 1}, {1, ""}).ok());
  ASSERT_TRUE(log()->StorePosition(b, {topic, 0}, {2, "two"}).ok());
  ExpectCommitted(a, {topic, 0}, 1, "one");
  ExpectCommitted(a, {topic, 1}, 1, "");
  ExpectCommitted(b, {topic, 0}, 2, "two");
  const auto none = log()->Committed(b, {topic, 1});
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_FALSE(none->has_value());
  // A position may move backward, as in a manual reset.
  ASSERT_TRUE(log()->StorePosition(b, {topic, 0}, {0, "reset"}).ok());
  ExpectCommitted(b, {topic, 0}, 0, "reset");
}

TEST_P(LogContract, PositionsAndFencingSurviveRestart) {
  const std::string in = Topic("in");
  const std::string out = Topic("out");
  const std::string group = Cat("group-", in);
  const std::string watcher = Cat("watcher-", in);
  Append({Out(in, 0, "k", "x")});
  {
    const auto committer = NewCommitter(Cat("tx-", in));
    Commit commit;
    commit.group = group;
    commit.input = {in, 0};
    commit.next_offset = 1;
    commit.metadata = "kept";
    commit.outputs = {Out(out, 0, "k", "a")};
    ASSERT_TRUE(committer->Apply(commit).ok());
    ASSERT_TRUE(log()->StorePosition(watcher, {in, 0}, {1, "seen"}).ok());
    ExpectCommitted(watcher, {in, 0}, 1, "seen");
  }
  Restart();
  ExpectCommitted(group, {in, 0}, 1, "kept");
  ExpectCommitted(watcher, {in, 0}, 1, "seen");
  const auto committer = NewCommitter(Cat("tx-", in));
  Commit commit;
  commit.outputs = {Out(out, 0, "k", "b")};
  ASSERT_TRUE(committer->Apply(commit).ok());
  EXPECT_EQ(Values({out, 0}, 2), (std::vector<std::string>{"a", "b"}));
}

// This is the processor's loop: each input yields exactly one output, regardless of any faults
// between two commits.
TEST_P(LogContract, ConsumeTransformCommitIsExactlyOnce) {
  constexpr int kInputs = 30;
  const std::string in = Topic("in");
  const std::string out = Topic("out", 2);
  const std::string group = Cat("group-", in);
  std::vector<OutgoingRecord> inputs;
  for (int i = 0; i < kInputs; ++i) inputs.push_back(Out(in, 0, "k", Cat(i)));
  Append(std::move(inputs));
  int done = 0;
  for (int life = 0; done < kInputs; ++life) {
    const auto committed = log()->Committed(group, {in, 0});
    ASSERT_TRUE(committed.ok()) << committed.status();
    ASSERT_EQ(committed->has_value(), done > 0);
    const auto committer = NewCommitter(Cat("tx-", in));
    const auto reader = Reader({in, 0}, done > 0 ? (*committed)->offset : kFromStart);
    for (int step = 0; step < 3 && done < kInputs; ++step) {
      const std::vector<Record> got = Read(reader.get(), std::min<size_t>(4, kInputs - done));
      ASSERT_FALSE(got.empty());
      Commit commit;
      commit.group = group;
      commit.input = {in, 0};
      commit.next_offset = reader->position();
      for (const Record& record : got) {
        commit.outputs.push_back(
            Out(out, static_cast<int32_t>(*ParseInt(record.value) % 2), record.key, record.value));
      }
      const int64_t next = commit.next_offset;
      const Status applied = committer->Apply(commit);
      ASSERT_TRUE(applied.ok()) << applied;
      ExpectCommitted(group, {in, 0}, next, "");
      done += static_cast<int>(got.size());
    }
    // The input was consumed but not committed, so the next incarnation consumes it again.
    if (done < kInputs) {
      EXPECT_FALSE(Read(reader.get(), 1).empty());
    }
  }
  std::vector<std::string> even;
  std::vector<std::string> odd;
  for (int i = 0; i < kInputs; ++i) (i % 2 == 0 ? even : odd).push_back(Cat(i));
  EXPECT_EQ(Values({out, 0}, even.size()), even);
  EXPECT_EQ(Values({out, 1}, odd.size()), odd);
}

// A reader that sees the second half of a commit must also see the first half.
TEST_P(LogContract, ReadersNeverSeePartialCommits) {
  const std::string left = Topic("left");
  const std::string right = Topic("right");
  const auto committer = NewCommitter(Cat("tx-", left));
  const auto right_reader = Reader({right, 0});
  const auto left_reader = Reader({left, 0});
  for (int i = 0; i < 20; ++i) {
    Commit commit;
    commit.outputs = {Out(left, 0, "k", Cat(i)), Out(right, 0, "k", Cat(i))};
    const Status applied = committer->Apply(commit);
    ASSERT_TRUE(applied.ok()) << applied;
    EXPECT_EQ(Read(right_reader.get(), 1).at(0).value, Cat(i));
    EXPECT_EQ(Read(left_reader.get(), 1).at(0).value, Cat(i));
  }
  ExpectNothing(right_reader.get());
  ExpectNothing(left_reader.get());
}

}  // namespace pitwall::contract
