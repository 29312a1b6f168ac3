// dump_topic DATA_DIR TOPIC: prints the record values of a topic from an embedded log, one per
// line, for tests.
#include <cstdio>

#include "tests/e2e/topic_records.h"

namespace pitwall {
namespace {

Status Dump(const std::string& dir, const std::string& topic) {
  ASSIGN_OR_RETURN(const std::vector<Record> records, RecordsOf(dir, topic));
  for (const Record& record : records) std::printf("%s\n", record.value.c_str());
  return OkStatus();
}

}  // namespace
}  // namespace pitwall

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const pitwall::Status status = pitwall::Dump(argv[1], argv[2]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
