#include "tests/kafka/raw_client.h"

#include <librdkafka/rdkafka.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "tests/kafka/broker_under_test.h"

namespace pitwall::kafka {
namespace {

constexpr int kTimeoutMs = 30'000;

[[noreturn]] void Fail(const char* what, const char* why) {
  std::fprintf(stderr, "raw kafka client: %s: %s\n", what, why);
  std::exit(2);
}

void Check(rd_kafka_error_t* error, const char* what) {
  if (error != nullptr) Fail(what, rd_kafka_error_string(error));
}
void Check(rd_kafka_resp_err_t error, const char* what) {
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) Fail(what, rd_kafka_err2str(error));
}

rd_kafka_t* NewProducer(const std::map<std::string, std::string>& settings) {
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  char text[512];
  std::map<std::string, std::string> all = settings;
  all["bootstrap.servers"] = TestBrokers();
  for (const auto& [key, value] : all) {
    if (rd_kafka_conf_set(conf, key.c_str(), value.c_str(), text, sizeof(text)) !=
        RD_KAFKA_CONF_OK) {
      Fail(key.c_str(), text);
    }
  }
  rd_kafka_t* client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
  if (client == nullptr) Fail("new client", text);
  return client;
}

}  // namespace

struct RawTransaction::Impl {
  rd_kafka_t* producer;
};

RawTransaction::RawTransaction(std::string_view transactional_id)
    : impl_(std::make_unique<Impl>()) {
  impl_->producer = NewProducer({{"transactional.id", std::string(transactional_id)}});
  Check(rd_kafka_init_transactions(impl_->producer, kTimeoutMs), "init_transactions");
  Begin();
}

RawTransaction::~RawTransaction() { rd_kafka_destroy(impl_->producer); }

void RawTransaction::Begin() { Check(rd_kafka_begin_transaction(impl_->producer), "begin"); }

void RawTransaction::Send(const std::string& topic, int32_t partition, std::string_view value) {
  // The variadic call is avoided because its macros are a GNU extension that clang warns about.
  rd_kafka_vu_t fields[4] = {};
  fields[0].vtype = RD_KAFKA_VTYPE_TOPIC;
  fields[0].u.cstr = topic.c_str();
  fields[1].vtype = RD_KAFKA_VTYPE_PARTITION;
  fields[1].u.i32 = partition;
  fields[2].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
  fields[2].u.i = RD_KAFKA_MSG_F_COPY;
  fields[3].vtype = RD_KAFKA_VTYPE_VALUE;
  fields[3].u.mem.ptr = const_cast<char*>(value.data());
  fields[3].u.mem.size = value.size();
  Check(rd_kafka_produceva(impl_->producer, fields, std::size(fields)), "produce");
  Check(rd_kafka_flush(impl_->producer, kTimeoutMs), "flush");
}

void RawTransaction::SendOffset(const std::string& group, const std::string& topic,
                                int32_t partition, int64_t offset) {
  rd_kafka_consumer_group_metadata_t* metadata =
      rd_kafka_consumer_group_metadata_new(group.c_str());
  rd_kafka_topic_partition_list_t* list = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_list_add(list, topic.c_str(), partition)->offset = offset;
  Check(rd_kafka_send_offsets_to_transaction(impl_->producer, list, metadata, kTimeoutMs),
        "send_offsets");
  rd_kafka_topic_partition_list_destroy(list);
  rd_kafka_consumer_group_metadata_destroy(metadata);
}

void RawTransaction::Commit() {
  Check(rd_kafka_commit_transaction(impl_->producer, kTimeoutMs), "commit");
}
void RawTransaction::Abort() {
  Check(rd_kafka_abort_transaction(impl_->producer, kTimeoutMs), "abort");
}

void MakeTopic(const std::string& topic, int32_t partitions,
               const std::map<std::string, std::string>& config) {
  rd_kafka_t* client = NewProducer({});
  rd_kafka_queue_t* queue = rd_kafka_queue_new(client);
  char text[512];
  rd_kafka_NewTopic_t* made =
      rd_kafka_NewTopic_new(topic.c_str(), partitions, 1, text, sizeof(text));
  if (made == nullptr) Fail("new topic", text);
  for (const auto& [key, value] : config) {
    Check(rd_kafka_NewTopic_set_config(made, key.c_str(), value.c_str()), key.c_str());
  }
  rd_kafka_CreateTopics(client, &made, 1, nullptr, queue);
  rd_kafka_event_t* event = rd_kafka_queue_poll(queue, kTimeoutMs);
  if (event == nullptr) Fail("create topic", "no response");
  Check(rd_kafka_event_error(event), "create topic");
  size_t count = 0;
  const auto** results =
      rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count);
  for (size_t i = 0; i < count; ++i) Check(rd_kafka_topic_result_error(results[i]), "create topic");
  rd_kafka_event_destroy(event);
  rd_kafka_NewTopic_destroy(made);
  rd_kafka_queue_destroy(queue);
  rd_kafka_destroy(client);
}

void DeleteRecordsBefore(const std::string& topic, int32_t partition, int64_t offset) {
  rd_kafka_t* client = NewProducer({});
  rd_kafka_queue_t* queue = rd_kafka_queue_new(client);
  rd_kafka_topic_partition_list_t* list = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_list_add(list, topic.c_str(), partition)->offset = offset;
  rd_kafka_DeleteRecords_t* deletion = rd_kafka_DeleteRecords_new(list);
  rd_kafka_DeleteRecords(client, &deletion, 1, nullptr, queue);
  rd_kafka_event_t* event = rd_kafka_queue_poll(queue, kTimeoutMs);
  if (event == nullptr) Fail("delete records", "no response");
  Check(rd_kafka_event_error(event), "delete records");
  const auto* results =
      rd_kafka_DeleteRecords_result_offsets(rd_kafka_event_DeleteRecords_result(event));
  for (int i = 0; i < results->cnt; ++i) Check(results->elems[i].err, "delete records");
  rd_kafka_event_destroy(event);
  rd_kafka_DeleteRecords_destroy(deletion);
  rd_kafka_topic_partition_list_destroy(list);
  rd_kafka_queue_destroy(queue);
  rd_kafka_destroy(client);
}

}  // namespace pitwall::kafka
