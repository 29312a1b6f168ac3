// Fuzzes client messages after a valid hello. Each message must be rejected, or converted to
// batches that the processor's decoder accepts.
#include <cstdint>
#include <string>
#include <string_view>

#include "pitwall/client/v1/client.pb.h"
#include "services/base/check.h"
#include "services/base/log.h"
#include "services/codec/telemetry_codec.h"
#include "services/collector/clients/client_sessions.h"
#include "tests/fakes/fake_clock.h"

namespace pitwall::collector {
namespace {

// Appender that immediately decodes the records that a publisher would send.
class CheckingAppender final : public Appender {
 public:
  Status Append(std::vector<OutgoingRecord> records) override {
    for (const OutgoingRecord& record : records) {
      const auto decoded = decoder_.Decode(record.value);
      PITWALL_CHECK(decoded.ok());
    }
    return OkStatus();
  }

 private:
  codec::BatchDecoder decoder_;
};

void One(std::string_view bytes) {
  fakes::FakeClock clock(1'700'000'000'100'000'000);
  SetLogLevel(LogLevel::kError);
  CheckingAppender appender;
  Counters counters;
  JobRegistry bindings({});
  MonotonicEventClock time(clock);
  PublisherOptions options;
  options.topic = "t";
  ClientCursors cursors;
  Publisher publisher(options, clock, &appender, &counters, &cursors);
  PITWALL_CHECK(publisher.Start().ok());
  BatchSender sender(&publisher);
  ClientSessions sessions({"n", "/nowhere", 0, 4}, &bindings, &sender, nullptr, time, clock,
                          &counters);
  client::v1::ClientMessage hello;
  hello.mutable_hello()->set_protocol(1);
  hello.mutable_hello()->set_job_id("j");
  hello.mutable_hello()->set_boot_id("b");
  hello.mutable_hello()->set_start_unix_ns(1'700'000'000'000'000'000);
  PITWALL_CHECK(sessions.Handle(1, {}, hello.SerializeAsString()).ok());
  (void)sessions.Handle(2, {}, bytes);
  if (sessions.Handle(1, {}, bytes).ok()) (void)sessions.Handle(1, {}, bytes);
  sessions.Closed(1);
  PITWALL_CHECK(sessions.Handle(1, {}, hello.SerializeAsString()).ok());  // the client reconnects
  // The first byte determines how the rest is split into messages.
  const size_t piece = bytes.empty() ? 1 : 1 + 16 * static_cast<unsigned char>(bytes[0]);
  for (size_t at = 1; at < bytes.size(); at += piece) {
    if (const auto answer = sessions.Handle(1, {}, bytes.substr(at, piece));
        !answer.ok() || answer->close)
      break;
  }
  sessions.Closed(1);
  sessions.Closed(2);
  publisher.Stop();
}

}  // namespace
}  // namespace pitwall::collector

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  pitwall::collector::One(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
