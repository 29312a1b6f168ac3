// Records of a topic, for programs that print a log for the tests.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "services/adapters/clock/system_clock.h"
#include "services/adapters/embedded_log/embedded_log.h"
#include "services/base/time.h"

namespace pitwall {

// Reads all partitions, one after the other, from the embedded log of a data directory.
inline StatusOr<std::vector<Record>> RecordsOf(const std::string& data_dir,
                                               const std::string& topic) {
  clock::SystemClock clock;
  ASSIGN_OR_RETURN(const auto log,
                   log::OpenEmbeddedLog({.dir = data_dir + "/log", .read_only = true}, &clock));
  ASSIGN_OR_RETURN(const int32_t partitions, log->Partitions(topic));
  std::vector<Record> records;
  for (int32_t p = 0; p < partitions; ++p) {
    ASSIGN_OR_RETURN(const auto reader, log->OpenReader({topic, p}, kFromStart));
    ASSIGN_OR_RETURN(const int64_t end, reader->EndOffset());
    while (reader->position() < end)
      RETURN_IF_ERROR(reader->Poll(1000, 1 << 20, Duration::Seconds(1), &records));
  }
  return records;
}

}  // namespace pitwall
