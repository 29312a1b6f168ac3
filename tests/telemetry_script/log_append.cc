#include "tests/telemetry_script/log_append.h"

#include <memory>
#include <string>
#include <utility>

#include "services/io/topics.h"

namespace pitwall::telemetry_script {

Status AppendTo(Log* log, int32_t partition, const std::vector<ScriptRecord>& records) {
  constexpr size_t kRecordsPerAppend = 500;
  ASSIGN_OR_RETURN(const std::unique_ptr<Appender> appender, log->OpenAppender());
  std::vector<OutgoingRecord> outgoing;
  for (const ScriptRecord& record : records) {
    outgoing.push_back({.topic = std::string(kTelemetryTopic),
                        .partition = partition,
                        .key = record.key,
                        .value = record.value});
    if (outgoing.size() < kRecordsPerAppend) continue;
    RETURN_IF_ERROR(appender->Append(std::exchange(outgoing, {})));
  }
  return outgoing.empty() ? OkStatus() : appender->Append(std::move(outgoing));
}

}  // namespace pitwall::telemetry_script
