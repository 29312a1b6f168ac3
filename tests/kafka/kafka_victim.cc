// Process to be killed by tests.
//
//   kafka_victim loop ID GROUP INPUT OUTPUT   commits through the log endlessly, starting at the
//     group's position: commit i writes "i" to both partitions of OUTPUT, five times each, and the
//     offset i + 1
//   kafka_victim open ID GROUP INPUT OUTPUT   leaves a transaction open: sends records and an
//     offset without a commit
//
// Prints "ready" on stdout when it may be killed.
#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/text/strings.h"
#include "tests/kafka/broker_under_test.h"
#include "tests/kafka/raw_client.h"

namespace pitwall::kafka {
namespace {

void Ready() {
  std::puts("ready");
  std::fflush(stdout);
}

int Loop(const std::string& id, const std::string& group, const TopicPartition& input,
         const std::string& output) {
  const auto log = OpenTestLog();
  auto committer = log->OpenCommitter(id);
  if (!committer.ok()) return 1;
  const auto last = log->Committed(group, input);
  if (!last.ok()) return 1;
  Ready();
  for (int64_t i = last->has_value() ? (*last)->offset : 0;; ++i) {
    Commit commit;
    commit.group = group;
    commit.input = input;
    commit.next_offset = i + 1;
    commit.metadata = Cat("after ", i);
    for (int k = 0; k < 10; ++k) {
      OutgoingRecord record;
      record.topic = output;
      record.partition = k % 2;
      record.key = "k";
      record.value = Cat(i);
      commit.outputs.push_back(record);
    }
    if (!(*committer)->Apply(commit).ok()) return 1;
  }
}

int Open(const std::string& id, const std::string& group, const TopicPartition& input,
         const std::string& output) {
  RawTransaction transaction(id);
  transaction.Send(output, 0, "never");
  transaction.Send(output, 1, "never");
  transaction.SendOffset(group, input.topic, input.partition, 17);
  Ready();
  pause();
  return 1;
}

}  // namespace
}  // namespace pitwall::kafka

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const std::string_view mode = argv[1];
  const pitwall::TopicPartition input{argv[4], 0};
  if (mode == "loop") return pitwall::kafka::Loop(argv[2], argv[3], input, argv[5]);
  if (mode == "open") return pitwall::kafka::Open(argv[2], argv[3], input, argv[5]);
  return 2;
}
