// Log (services/io/io.h) backed by Apache Kafka, for multi-machine deployments.
//
// Implementation of the guarantees in io.h:
//  * Each reader is manually assigned one partition, reads only committed records, and keeps its
//    own position. Readers never join a consumer group. Transaction markers and aborted records are
//    holes; position() skips them, so position() == EndOffset() after everything has been read.
//    Therefore, Poll may return early without records if it moved the position.
//  * EndOffset() is the last stable offset. Records after the start of an open transaction are
//    excluded.
//  * A Committer's records become visible a few milliseconds after Apply returns, because the
//    broker writes the transaction markers asynchronously.
//  * An Appender is an idempotent producer with acks=all and zstd. After a failed Append, some or
//    all of its records may nevertheless have been written.
//  * A Committer is a transactional producer. If the broker fails during a commit, the outcome may
//    be unknown. The committer then returns Aborted, as if fenced. The caller must open a new
//    committer, which resolves the old transaction, and start from Committed().
//  * append_time is the LogAppendTime. Topics are created with that setting, and opening a
//    Pitwall topic without it is an error.
//
// Threads: as in io.h. Each reader, appender, and committer owns one librdkafka client (a few
// threads and connections).
// Errors:
//  * Unavailable: the broker is unreachable or busy; the call can be retried.
//  * NotFound: the topic or partition does not exist.
//  * InvalidArgument: the record will always be rejected (too large or malformed), or librdkafka
//    rejects an option.
//  * ResourceExhausted: the queue is full.
//  * PermissionDenied: an ACL is missing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/io/io.h"

namespace pitwall::kafka {

struct KafkaLogOptions {
  std::string brokers;  // "host:port,host:port"
  // Client ID. Also the group ID that readers set, but they never join the group.
  std::string client_id = "pitwall";
  // Settings passed to librdkafka unchanged: security.protocol, sasl.*, ssl.*, socket.*, ... Keys
  // that the guarantees above depend on (isolation.level, enable.idempotence, ...) are rejected.
  // May contain secrets: never logged.
  std::map<std::string, std::string> rdkafka;

  // Timeout for metadata calls, admin calls, Committed, StorePosition, and EndOffset.
  int64_t request_timeout_ns = 15 * kNanosPerSecond;
  // Time after which Append returns Unavailable if the records are not durable yet.
  int64_t append_timeout_ns = 30 * kNanosPerSecond;
  int64_t commit_timeout_ns = 30 * kNanosPerSecond;  // also for OpenCommitter
  // Time after which the broker aborts a dead committer's open transaction.
  int64_t transaction_timeout_ns = 60 * kNanosPerSecond;

  // Maximum combined size of the key and value. The broker's message.max.bytes must allow it.
  int64_t max_record_bytes = 1'000'000;
  // Number of in-flight bytes per appender above which Append blocks.
  int64_t append_queue_bytes = 64 << 20;
  int64_t read_ahead_bytes = 16 << 20;  // per reader: fetched but not polled yet
  // Maximum time that Append waits for more records to share its request.
  int64_t linger_ns = 5 * kNanosPerMilli;
  int32_t replication_factor = -1;  // for topics created by EnsureTopic; -1 uses the broker default
  // Topics that Pitwall does not own. Their configuration is not checked, and append_time is the
  // producer's timestamp unless the topic uses LogAppendTime.
  std::vector<std::string> foreign_topics = {"otlp_metrics"};
};

// Validates the options and creates the clients without waiting for a broker. `clock` is borrowed
// and must outlive the log and everything opened from it. The log must outlive its readers,
// appenders, and committers.
StatusOr<std::unique_ptr<Log>> OpenKafkaLog(const KafkaLogOptions& options, Clock* clock);

}  // namespace pitwall::kafka
