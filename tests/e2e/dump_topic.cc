// dump_topic DATA_DIR TOPIC: prints the record values of a topic from an embedded log, one per
// line, for tests.
#include <cstdio>

#include "services/adapters/clock/system_clock.h"
#include "services/adapters/embedded_log/embedded_log.h"
#include "services/base/time.h"

namespace pitwall {
namespace {

Status Dump(const std::string& dir, const std::string& topic) {
  clock::SystemClock clock;
  ASSIGN_OR_RETURN(const auto log,
                   log::OpenEmbeddedLog({.dir = dir + "/log", .read_only = true}, &clock));
  ASSIGN_OR_RETURN(const int32_t partitions, log->Partitions(topic));
  for (int32_t p = 0; p < partitions; ++p) {
    ASSIGN_OR_RETURN(const auto reader, log->OpenReader({topic, p}, kFromStart));
    ASSIGN_OR_RETURN(const int64_t end, reader->EndOffset());
    std::vector<Record> records;
    while (reader->position() < end)
      RETURN_IF_ERROR(reader->Poll(1000, 1 << 20, Duration::Seconds(1), &records));
    for (const Record& record : records) std::printf("%s\n", record.value.c_str());
  }
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
