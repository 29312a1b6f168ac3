// Test fixture with an executor, an in-memory log, and fake processes.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/executor/decision_index.h"
#include "services/executor/executor.h"
#include "services/io/topics.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/memory_log.h"

namespace pitwall::executor {

// Fake processes by pid. Signals are only counted, unless the test makes them end the process.
class FakeProcesses final : public ProcessControl {
 public:
  StatusOr<ProcessState> Look(const ProcessIdentity& process) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto at = running_.find(process.pid);
    if (at == running_.end()) return ProcessState::kGone;
    if (at->second != process.start_ticks) return ProcessState::kReplaced;
    const bool fits = process.owner.empty() || process.owner == owner;
    return fits ? ProcessState::kRunning : ProcessState::kOtherOwner;
  }
  Status Terminate(const ProcessIdentity& process) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (before_signal) before_signal();
    const auto at = running_.find(process.pid);
    if (at == running_.end() || at->second != process.start_ticks) return NotFound("gone");
    if (!signal_error.ok()) return signal_error;
    signals_.push_back(process.pid);
    if (exits) running_.erase(at);
    return OkStatus();
  }
  void Run(int64_t pid, uint64_t start) {
    const std::lock_guard<std::mutex> lock(mutex_);
    running_[pid] = start;
  }
  void End(int64_t pid) {
    const std::lock_guard<std::mutex> lock(mutex_);
    running_.erase(pid);
  }
  std::vector<int64_t> signals() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return signals_;
  }

  std::function<void()> before_signal;
  std::string owner = "uid:1000";  // owner of all processes
  Status signal_error;
  std::atomic<bool> exits{true};

 private:
  std::mutex mutex_;
  std::map<int64_t, uint64_t> running_;
  std::vector<int64_t> signals_;
};

// Fake jobs on one platform, by uid. A stop ends the job, unless the test sets a different effect.
class FakeTarget final : public StopTarget {
 public:
  explicit FakeTarget(std::string platform) : platform_(std::move(platform)) {}
  std::string_view name() const override { return platform_; }
  Claim Claims(const JobReference& reference) const override {
    return reference.platform == platform_ ? Claim::kMine : Claim::kNo;
  }
  StopCheck Check(const ActionEvent& stop) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!running_.contains(stop.target.uid)) return {.refusal = "no such job"};
    return {.found = Cat("job ", stop.target.uid, " is running")};
  }
  StatusOr<std::string> Stop(const ActionEvent& stop) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!error.ok()) return error;
    stops_.push_back(stop);
    if (ends) running_.erase(stop.target.uid);
    return std::string("suspended");
  }
  StatusOr<StopEffect> Effect(const ActionEvent& stop) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (running_.contains(stop.target.uid)) return StopEffect{.text = "the job is still running"};
    return StopEffect{.stopped = true, .text = "no pod is active"};
  }
  void Run(const std::string& uid) {
    const std::lock_guard<std::mutex> lock(mutex_);
    running_.insert(uid);
  }
  std::vector<ActionEvent> stops() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return stops_;
  }

  Status error;
  std::atomic<bool> ends{true};

 private:
  const std::string platform_;
  std::mutex mutex_;
  std::set<std::string> running_;
  std::vector<ActionEvent> stops_;
};

class ExecutorTest : public ::testing::Test {
 protected:
  ExecutorTest() { EXPECT_TRUE(log_.EnsureTopic("pitwall.issues", {2, false, -1}).ok()); }

  static ExecutorOptions Options(PolicyMode mode = PolicyMode::kLive) {
    ExecutorOptions o;
    o.node = "n1";
    o.policies = {{"p/*", mode, 30 * kNanosPerSecond}};
    return o;
  }

  static IssueEvent Issue(std::string job, int64_t pid, uint64_t sequence = 1,
                          EventType type = EventType::kIssueFound) {
    IssueEvent e;
    e.type = type;
    e.job = std::move(job);
    e.owner = "uid:1000";
    e.rule = "p/g/A";
    e.alert = "A";
    e.labels = Labels{{"alertname", "A"}, {"action", "stop"}};
    e.reference.platform = "process";
    e.reference.kind = "pid";
    e.reference.uid = Cat(pid, "@n1/", pid * 10);
    e.active_since = EventTime::FromNs(1000 * kNanosPerSecond);
    e.time = e.active_since + Duration::Seconds(static_cast<int64_t>(sequence));
    e.sequence = sequence;
    e.evidence = {{"train_loss", {}, 7}};
    e.id = MakeEventId(e);
    return e;
  }

  void Publish(const IssueEvent& event, int32_t partition = 0) {
    OutgoingRecord record;
    record.topic = kIssuesTopic;
    record.partition = partition;
    record.key = event.job;
    record.value = cloudevents::EncodeCloudEvent(event);
    ASSERT_TRUE((*log_.OpenAppender())->Append({record}).ok());
  }

  void Run(ExecutorOptions options) {
    auto executor = Executor::Make(&clock_, &log_, &processes_, std::move(options));
    ASSERT_TRUE(executor.ok()) << executor.status();
    executor_ = *std::move(executor);
    const Status started = executor_->Start();
    ASSERT_TRUE(started.ok()) << started;
  }
  // Waits until both partitions are idle.
  void Settle() { clock_.AwaitWaiters(2); }
  void Pass(const std::function<bool()>& done) {
    for (int i = 0; !done(); ++i) {
      ASSERT_LT(i, 10'000);
      Settle();
      if (done()) return;
      clock_.Advance(200 * kNanosPerMilli);
    }
  }

  // Returns the records of pitwall.actions, in order within each job.
  std::vector<ActionEvent> Actions() {
    std::vector<ActionEvent> out;
    for (int32_t p = 0; p < 2; ++p) {
      for (const Record& record : log_.Records("pitwall.actions", p)) {
        const StatusOr<ActionEvent> action = cloudevents::DecodeActionEvent(record.value);
        EXPECT_TRUE(action.ok()) << action.status();
        EXPECT_EQ(record.key, action->job);
        EXPECT_TRUE(action->id == MakeActionId(*action) ||
                    action->id == OutcomeOf(*action, action->type).id)
            << action->id;
        out.push_back(*action);
      }
    }
    return out;
  }
  std::vector<std::string> Kinds() {
    std::vector<std::string> out;
    for (const ActionEvent& action : Actions()) {
      out.push_back(
          Cat(ActionEventTypeName(action.type).substr(18), " ", ActionModeName(action.mode)));
    }
    return out;
  }

  fakes::FakeClock clock_;
  fakes::MemoryLog log_{&clock_};
  FakeProcesses processes_;
  std::unique_ptr<Executor> executor_;
};

}  // namespace pitwall::executor
