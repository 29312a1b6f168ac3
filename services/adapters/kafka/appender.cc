#include "services/adapters/kafka/appender.h"

#include <atomic>
#include <string>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::kafka {
namespace {

constexpr int kPollMs = 1000;
constexpr int kLastReportsMs = 2000;
// librdkafka checks for expired records once per second and lets in-flight requests finish first.
constexpr int64_t kReportGraceNs = 10 * kNanosPerSecond;

// One Append in flight. The object lives until the caller has returned and all delivery reports
// have arrived. An unresponsive broker may delay a report beyond the caller's timeout.
class Call {
 public:
  explicit Call(std::unique_ptr<Wakeup> wakeup) : wakeup_(std::move(wakeup)) {}

  void AddRecord() {
    ++references_;
    ++outstanding_;
  }
  // Called once for each record, and once after the caller has submitted all records. `topic` may
  // be null.
  void Settle(rd_kafka_resp_err_t error, const char* topic) {
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
      MutexLock lock(&mutex_);
      if (error_ == RD_KAFKA_RESP_ERR_NO_ERROR) {
        error_ = error;
        topic_ = topic == nullptr ? "" : topic;
      }
    }
    if (--outstanding_ == 0) wakeup_->Wake();
  }
  void Release() {
    if (--references_ == 0) delete this;
  }
  bool Wait(int64_t timeout_ns) { return wakeup_->Wait(timeout_ns); }
  std::pair<rd_kafka_resp_err_t, std::string> error() {
    MutexLock lock(&mutex_);
    return {error_, topic_};
  }

 private:
  ~Call() = default;

  const std::unique_ptr<Wakeup> wakeup_;
  std::atomic<int64_t> references_{1};   // the caller's reference
  std::atomic<int64_t> outstanding_{1};  // held until the caller has submitted all records
  Mutex mutex_;
  rd_kafka_resp_err_t error_ ABSL_GUARDED_BY(mutex_) = RD_KAFKA_RESP_ERR_NO_ERROR;
  std::string topic_ ABSL_GUARDED_BY(mutex_);
};

void OnReport(const rd_kafka_message_t& message) {
  auto* call = static_cast<Call*>(message._private);
  call->Settle(message.err, message.rkt == nullptr ? nullptr : rd_kafka_topic_name(message.rkt));
  call->Release();
}

}  // namespace

StatusOr<std::shared_ptr<PolledProducer>> PolledProducer::Open(const KafkaLogOptions& options) {
  ClientConfig config(options);
  config.SetProducer(options, options.append_timeout_ns);
  auto state = std::make_unique<ClientState>();
  state->on_delivery = OnReport;
  ASSIGN_OR_RETURN(auto client, config.Build(RD_KAFKA_PRODUCER, std::move(state)));
  return std::shared_ptr<PolledProducer>(new PolledProducer(std::move(client)));
}

PolledProducer::PolledProducer(std::unique_ptr<Client> client)
    : client_(std::move(client)),
      main_queue_(rd_kafka_queue_get_main(client_->get())),
      topics_(client_->get()),
      worker_(nullptr, "kafka-poll") {
  worker_.OnStop([this] { rd_kafka_queue_yield(main_queue_.get()); });
  worker_.Start([this] {
    while (!worker_.stopping()) rd_kafka_poll(client_->get(), kPollMs);
  });
}

PolledProducer::~PolledProducer() {
  worker_.Stop();
  // No caller is waiting anymore. The delivery reports of the purged records free their Call
  // objects.
  rd_kafka_purge(client_->get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
  rd_kafka_flush(client_->get(), kLastReportsMs);
}

StatusOr<std::unique_ptr<KafkaAppender>> KafkaAppender::Open(const KafkaLogOptions& options,
                                                             Clock* clock, Topics* topics) {
  ASSIGN_OR_RETURN(auto producer, PolledProducer::Open(options));
  return std::unique_ptr<KafkaAppender>(
      new KafkaAppender(options, clock, topics, std::move(producer)));
}

StatusOr<std::shared_ptr<PolledProducer>> KafkaAppender::Producer() {
  MutexLock lock(&mutex_);
  if (producer_ == nullptr || producer_->fatal()) {
    PITWALL_LOG(kWarning, "kafka",
                "the appender's producer has failed permanently; creating a new one");
    producer_ = nullptr;
    ASSIGN_OR_RETURN(producer_, PolledProducer::Open(options_));
  }
  return producer_;
}

Status KafkaAppender::Append(std::vector<OutgoingRecord> records) {
  if (records.empty()) return OkStatus();
  for (const OutgoingRecord& record : records) {
    RETURN_IF_ERROR(CheckSize(record, options_.max_record_bytes));
    RETURN_IF_ERROR(topics_->CheckTarget(record));
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<PolledProducer> producer, Producer());
  for (const OutgoingRecord& record : records) {
    RETURN_IF_ERROR(producer->topics().Meet(record.topic, options_.append_timeout_ns));
  }
  auto* call = new Call(clock_->NewWakeup());
  for (const OutgoingRecord& record : records) {
    call->AddRecord();
    // Blocks while the queue is full. Records leave the queue within append_timeout, whether
    // delivered or not.
    const rd_kafka_resp_err_t error = Produce(producer->get(), record, call, /*block=*/true);
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {  // no delivery report will arrive
      call->Settle(error, record.topic.c_str());
      call->Release();
      break;
    }
  }
  call->Settle(RD_KAFKA_RESP_ERR_NO_ERROR, nullptr);
  Status status;
  if (!call->Wait(options_.append_timeout_ns + kReportGraceNs)) {
    status =
        Unavailable(Cat("append: no response from the broker within ",
                        (options_.append_timeout_ns + kReportGraceNs) / kNanosPerSecond, " s"));
  } else if (const auto [error, topic] = call->error(); error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    status = ErrorStatus(error, Cat("append to ", topic));
    if (error == RD_KAFKA_RESP_ERR__FATAL)
      status = Unavailable(status.ToString());  // the next call creates a new producer
    if (absl::IsNotFound(status)) topics_->Forget(topic);
  }
  call->Release();
  return status;
}

}  // namespace pitwall::kafka
