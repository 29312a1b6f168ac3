// Test fixture that runs a history over an in-memory log.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/adapters/clock/system_clock.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/codec/telemetry_codec.h"
#include "services/history/ingest/history_service.h"
#include "services/history/windows/testing/batches.h"
#include "services/io/topics.h"
#include "services/self_metrics/exposition.h"
#include "tests/fakes/memory_log.h"

namespace pitwall::history {

class HistoryServiceTest : public ::testing::Test {
 protected:
  HistoryServiceTest() : log_(&clock_) {
    dir_ = Cat(::testing::TempDir(), "/pitwall-keep-",
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(dir_);
    for (const std::string_view topic :
         {kTelemetryTopic, kIssuesTopic, kActionsTopic, kCapturesTopic, kNotificationsTopic})
      EXPECT_TRUE(log_.EnsureTopic(topic, {.partitions = 1}).ok());
    options_.dir = dir_;
    options_.save_interval_ns = 0;
    auto appender = log_.OpenAppender();
    appender_ = *std::move(appender);
  }
  ~HistoryServiceTest() override {
    keep_ = nullptr;
    std::filesystem::remove_all(dir_);
  }

  void Open() {
    auto keep = HistoryService::Open(&clock_, &log_, options_, &exposition_);
    ASSERT_TRUE(keep.ok()) << keep.status();
    keep_ = *std::move(keep);
    ASSERT_TRUE(keep_->Start().ok());
  }
  void Close() { keep_ = nullptr; }
  const History& history() const { return keep_->history(); }

  void Send(const Batch& batch) {
    std::string bytes;
    codec::EncodeBatch(batch, &bytes);
    ASSERT_TRUE(appender_
                    ->Append({{.topic = std::string(kTelemetryTopic),
                               .partition = 0,
                               .key = batch.job,
                               .value = bytes}})
                    .ok());
    ++records_;
  }
  void Send(const IssueEvent& event) {
    ASSERT_TRUE(appender_
                    ->Append({{.topic = std::string(kIssuesTopic),
                               .partition = 0,
                               .key = event.job,
                               .value = cloudevents::EncodeCloudEvent(event)}})
                    .ok());
    ++events_;
  }
  void Changed(JobChange change, int64_t time_ns, uint64_t attempt = 1,
               EndDetail detail = EndDetail::kNone) {
    IssueEvent event;
    event.type = EventType::kJobChanged;
    event.job = "job-1";
    event.time = EventTime::FromNs(time_ns);
    event.attempt = attempt;
    event.job_change = change;
    event.end_detail = detail;
    event.sequence = events_ + 1;
    event.id = MakeEventId(event);
    Send(event);
  }

  // Waits until all data sent since the last Open has been read.
  void Await() {
    AwaitThat([&] {
      return keep_->counters().records >= records_ && keep_->counters().events >= events_;
    });
  }
  template <typename F>
  void AwaitThat(F condition) {
    const auto pause = clock_.NewWakeup();
    // Waits for up to one minute.
    for (int i = 0; i < 12'000 && !condition(); ++i) pause->Wait(5 * kNanosPerMilli);
    ASSERT_TRUE(condition()) << keep_->Health();
  }

  clock::SystemClock clock_;
  fakes::MemoryLog log_;
  std::string dir_;
  HistoryOptions options_;
  std::unique_ptr<Appender> appender_;
  self_metrics::Exposition exposition_;
  std::unique_ptr<HistoryService> keep_;
  uint64_t records_ = 0;
  uint64_t events_ = 0;
};

}  // namespace pitwall::history
