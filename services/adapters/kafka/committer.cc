#include "services/adapters/kafka/committer.h"

#include <algorithm>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::kafka {
namespace {

constexpr int64_t kQueueWaitNs = 100 * kNanosPerMilli;
// Minimum time for an abort, even if the commit has used up its timeout.
constexpr int64_t kAbortNs = 5 * kNanosPerSecond;

}  // namespace

StatusOr<std::unique_ptr<KafkaCommitter>> KafkaCommitter::Open(const KafkaLogOptions& options,
                                                               Clock* clock, Topics* topics,
                                                               std::string_view transactional_id) {
  if (transactional_id.empty()) return InvalidArgument("transactional ID must not be empty");
  std::unique_ptr<KafkaCommitter> committer(
      new KafkaCommitter(options, clock, topics, transactional_id));
  ClientConfig config(options);
  config.Set("transactional.id", transactional_id)
      .Set("transaction.timeout.ms", TimeoutMs(options.transaction_timeout_ns))
      .SetProducer(options, options.commit_timeout_ns);
  auto state = std::make_unique<ClientState>();
  // This callback runs on the thread that calls the functions below.
  state->on_delivery = [self = committer.get()](const rd_kafka_message_t& message) {
    if (message.err == RD_KAFKA_RESP_ERR_NO_ERROR || !self->rejected_.ok()) return;
    // Records purged by an abort are not the cause of the error.
    if (message.err == RD_KAFKA_RESP_ERR__PURGE_QUEUE ||
        message.err == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT)
      return;
    self->rejected_ = ErrorStatus(
        message.err, Cat("commit by ", self->id_, ": record for ",
                         message.rkt == nullptr ? "?" : rd_kafka_topic_name(message.rkt)));
  };
  ASSIGN_OR_RETURN(committer->client_, config.Build(RD_KAFKA_PRODUCER, std::move(state)));
  committer->met_ = std::make_unique<MetTopics>(committer->client_->get());
  const int64_t deadline = clock->MonotonicNs() + options.commit_timeout_ns;
  for (;;) {
    const ErrorPtr error(rd_kafka_init_transactions(committer->client_->get(),
                                                    TimeoutMs(committer->Left(deadline))));
    if (error == nullptr) return committer;
    const auto code = rd_kafka_error_code(error.get());
    const std::string context = Cat("open committer ", transactional_id);
    if (!rd_kafka_error_is_retriable(error.get())) {
      return ErrorStatus(code, context, rd_kafka_error_string(error.get()));
    }
    if (committer->Left(deadline) <= 0) {
      return Unavailable(Cat(context, ": ", rd_kafka_error_string(error.get())));
    }
  }
}

int64_t KafkaCommitter::Left(int64_t deadline) const {
  return std::max<int64_t>(deadline - clock_->MonotonicNs(), 0);
}

Status KafkaCommitter::End(std::string_view why) {
  ended_ = Aborted(Cat("committer ", id_, " has stopped: ", why));
  PITWALL_LOG(kWarning, "kafka", ToStd(ended_.message()));
  return ended_;
}

Status KafkaCommitter::Judge(const rd_kafka_error_t* error, std::string_view step) {
  const auto code = rd_kafka_error_code(error);
  Status status =
      ErrorStatus(code, Cat("commit by ", id_, ", ", step), rd_kafka_error_string(error));
  if (rd_kafka_error_is_fatal(error) || absl::IsAborted(status))
    return End(ToStd(status.message()));
  if (!rejected_.ok()) return rejected_;
  // The caller must abort the transaction and may then retry it.
  if (rd_kafka_error_txn_requires_abort(error) && status.code() == absl::StatusCode::kInternal) {
    return Unavailable(ToStd(status.message()));
  }
  return status;
}

Status KafkaCommitter::Check(const Commit& commit) {
  for (const OutgoingRecord& record : commit.outputs) {
    RETURN_IF_ERROR(CheckSize(record, options_.max_record_bytes));
    RETURN_IF_ERROR(topics_->CheckTarget(record));
  }
  if (commit.next_offset < 0) return OkStatus();
  if (commit.group.empty())
    return InvalidArgument(Cat("commit by ", id_, ": an offset requires a group"));
  RETURN_IF_ERROR(CheckMetadata(commit.metadata, Cat("commit by ", id_)));
  ASSIGN_OR_RETURN(const int32_t partitions, topics_->KnownPartitions(commit.input.topic));
  if (commit.input.partition < 0 || commit.input.partition >= partitions) {
    return NotFound(Cat("commit by ", id_, ": input ", Name(commit.input),
                        ": no such partition; the topic has ", partitions, " partitions"));
  }
  return OkStatus();
}

Status KafkaCommitter::Apply(const Commit& commit) {
  RETURN_IF_ERROR(ended_);
  RETURN_IF_ERROR(Check(commit));
  const int64_t deadline = clock_->MonotonicNs() + options_.commit_timeout_ns;
  if (must_abort_) RETURN_IF_ERROR(Abort(deadline));
  for (const OutgoingRecord& record : commit.outputs)
    RETURN_IF_ERROR(met_->Meet(record.topic, Left(deadline)));
  if (commit.outputs.empty() && commit.next_offset < 0) return OkStatus();
  rejected_ = OkStatus();
  if (const ErrorPtr error(rd_kafka_begin_transaction(client_->get())); error != nullptr) {
    return Judge(error.get(), "begin");
  }
  Status status = Send(commit, deadline);
  if (status.ok() && commit.next_offset >= 0) status = SendOffset(commit, deadline);
  if (status.ok()) status = Finish(deadline);
  if (status.ok() || !ended_.ok()) return status;
  const Status aborted = Abort(std::max(deadline, clock_->MonotonicNs() + kAbortNs));
  return ended_.ok() ? status : aborted;
}

Status KafkaCommitter::Send(const Commit& commit, int64_t deadline) {
  for (const OutgoingRecord& record : commit.outputs) {
    for (;;) {
      const auto error = Produce(client_->get(), record, nullptr, /*block=*/false);
      if (error == RD_KAFKA_RESP_ERR_NO_ERROR) break;
      if (error == RD_KAFKA_RESP_ERR__FATAL) {
        char text[512];
        rd_kafka_fatal_error(client_->get(), text, sizeof(text));
        return End(text);
      }
      if (error != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
        const Status status =
            ErrorStatus(error, Cat("commit by ", id_, ": record for ", record.topic));
        if (!rejected_.ok()) return rejected_;
        // _STATE means that an earlier record has already failed, so this error is not the cause.
        return absl::IsFailedPrecondition(status) ? Unavailable(ToStd(status.message())) : status;
      }
      const int64_t left = Left(deadline);
      if (left <= 0)
        return Unavailable(Cat("commit by ", id_, ": the queue to the broker is still full"));
      rd_kafka_poll(client_->get(), TimeoutMs(std::min(left, kQueueWaitNs)));
    }
  }
  // The flush happens here, not in the commit call, so that an unavailable broker is detected while
  // the transaction can still be aborted. After the commit request, the outcome may be unknown.
  if (!commit.outputs.empty() &&
      rd_kafka_flush(client_->get(), TimeoutMs(Left(deadline))) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return Unavailable(Cat("commit by ", id_, ": ", rd_kafka_outq_len(client_->get()),
                           " records were not acknowledged within the timeout"));
  }
  return rejected_;
}

Status KafkaCommitter::SendOffset(const Commit& commit, int64_t deadline) {
  const std::unique_ptr<rd_kafka_consumer_group_metadata_t,
                        Deleter<rd_kafka_consumer_group_metadata_destroy>>
      group(rd_kafka_consumer_group_metadata_new(commit.group.c_str()));
  const ListPtr list = OffsetList(commit.input, commit.next_offset, commit.metadata);
  for (;;) {
    const ErrorPtr error(rd_kafka_send_offsets_to_transaction(
        client_->get(), list.get(), group.get(), TimeoutMs(Left(deadline))));
    if (error == nullptr) return OkStatus();
    Status status = Judge(error.get(), "input offset");
    if (!ended_.ok() || !rd_kafka_error_is_retriable(error.get()) ||
        rd_kafka_error_txn_requires_abort(error.get())) {
      return status;
    }
    if (Left(deadline) <= 0) return Unavailable(ToStd(status.message()));
  }
}

Status KafkaCommitter::Finish(int64_t deadline) {
  for (;;) {
    const ErrorPtr error(rd_kafka_commit_transaction(client_->get(), TimeoutMs(Left(deadline))));
    if (error == nullptr) return OkStatus();
    Status status = Judge(error.get(), "commit");
    if (!ended_.ok() || rd_kafka_error_txn_requires_abort(error.get())) return status;
    if (!rd_kafka_error_is_retriable(error.get()) || Left(deadline) <= 0) {
      return End(Cat("the outcome of its last commit is unknown (", ToStd(status.message()),
                     "); open a new one and start from the committed offset"));
    }
  }
}

Status KafkaCommitter::Abort(int64_t deadline) {
  must_abort_ = true;
  for (;;) {
    const ErrorPtr error(rd_kafka_abort_transaction(client_->get(), TimeoutMs(Left(deadline))));
    if (error == nullptr) {
      must_abort_ = false;
      return OkStatus();
    }
    rejected_ = OkStatus();
    Status status = Judge(error.get(), "abort");
    if (!ended_.ok()) return status;
    if (!rd_kafka_error_is_retriable(error.get())) return End(ToStd(status.message()));
    if (Left(deadline) <= 0) return Unavailable(ToStd(status.message()));
  }
}

}  // namespace pitwall::kafka
