// The log (services/io/io.h) over Apache Kafka: when one machine is not enough.
//
// How io.h's promises are kept here:
//  * Readers are assigned one partition by hand, read committed records only and keep their own
//    positions; no consumer group is ever joined. Transaction markers and aborted records are
//    holes; position() passes over them, so that position() == EndOffset() when everything was
//    read. To say so, Poll may return early with nothing appended when it moved the position.
//  * EndOffset() is the last stable offset: records behind a transaction that is still open do not
//    count yet.
//  * What a Committer applied is seen a few milliseconds after Apply returned: the broker writes
//    the markers behind it.
//  * An Appender is an idempotent producer with acks=all and zstd. An Append that failed may still
//    have arrived, whole or in part.
//  * A Committer is a transactional producer. Its outcome may stay unknown when the broker goes
//    away in the middle of a commit; it then answers Aborted, as if fenced: open a new one (which
//    settles the old transaction one way or the other) and start from Committed().
//  * append_time_ns comes from LogAppendTime: topics are made with it, and opening a topic of ours
//    without it is an error.
//
// Threads: as in io.h. Each reader, appender and committer owns one librdkafka client (a few
// threads and connections). Errors: Unavailable = broker away or busy, try again; NotFound = no
// such topic or partition; InvalidArgument = a record that is never taken (too large, malformed),
// or an option librdkafka does not take; ResourceExhausted = queue full; PermissionDenied = an ACL
// is missing.
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
  std::string client_id =
      "pitwall";  // also the group id under which readers (which never join it) present themselves
  // Handed to librdkafka as they are: security.protocol, sasl.*, ssl.*, socket.*, ... Keys on which
  // the promises above rest (isolation.level, enable.idempotence, ...) are refused. May hold
  // secrets: never logged.
  std::map<std::string, std::string> rdkafka;

  int64_t request_timeout_ns =
      15 * kNanosPerSecond;  // metadata, admin calls, Committed, StorePosition, EndOffset
  int64_t append_timeout_ns =
      30 * kNanosPerSecond;  // Append says Unavailable when not durable by then
  int64_t commit_timeout_ns = 30 * kNanosPerSecond;  // Apply and OpenCommitter likewise
  int64_t transaction_timeout_ns =
      60 * kNanosPerSecond;  // the broker aborts what a dead committer left open by then

  int64_t max_record_bytes =
      1'000'000;  // key and value; the broker's message.max.bytes must allow it
  int64_t append_queue_bytes = 64 << 20;  // Append waits when so much is under way in one appender
  int64_t read_ahead_bytes = 16 << 20;    // fetched and not yet polled, per reader
  int64_t linger_ns =
      5 * kNanosPerMilli;           // Append waits so long for records to share a request with
  int32_t replication_factor = -1;  // of topics that EnsureTopic makes; -1: the broker's default
  // Topics that others own: their configuration is not checked, and append_time_ns is their
  // producer's timestamp when they do not use LogAppendTime.
  std::vector<std::string> foreign_topics = {"otlp_metrics"};
};

// Checks the options and makes the clients; does not wait for a broker. `clock` is borrowed and
// must outlive the log and everything opened from it; the log must outlive the readers, appenders
// and committers that it opened.
StatusOr<std::unique_ptr<Log>> OpenKafkaLog(const KafkaLogOptions& options, Clock* clock);

}  // namespace pitwall::kafka
