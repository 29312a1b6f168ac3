// Issue source for tests. It returns scripted batches, one at a time or endlessly.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/io/issue_source.h"

namespace pitwall::grpc_adapter {

inline IssueEventPtr Event(std::string_view id, size_t padding = 0) {
  auto event = std::make_shared<IssueEvent>();
  event->id = id;
  event->job = "j";
  event->rule = "r";
  event->description = std::string(padding, 'x');
  return event;
}

// Thread-safe, except for the public members, which a test must set before serving.
class ScriptedSource final : public IssueSource {
 public:
  StatusOr<IssuePage> ListIssues(const IssueQuery& query) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    last_query = query;
    if (!list_error.ok()) return list_error;
    return IssuePage{{Event("a"), Event("b")}, "next", "resume"};
  }
  StatusOr<std::vector<IssueEventPtr>> GetIssue(std::string_view id) override {
    if (id == "stuck") {
      std::unique_lock<std::mutex> lock(mutex_);
      ++stuck;
      changed_.notify_all();
      changed_.wait(lock, [&] { return released; });
    }
    if (id != "a") return NotFound("no such issue");
    return std::vector<IssueEventPtr>{Event("a")};
  }
  StatusOr<std::unique_ptr<IssueWatch>> WatchIssues(const WatchQuery& query) override {
    if (query.resume_token == "old") return OutOfRange("too old");
    if (query.resume_token == "bad") return InvalidArgument("malformed token");
    const std::lock_guard<std::mutex> lock(mutex_);
    last_watch = query;
    ++opened;
    return std::make_unique<Watch>(this);
  }
  void Push(StatusOr<WatchBatch> batch) {
    const std::lock_guard<std::mutex> lock(mutex_);
    batches_.push_back(std::move(batch));
    changed_.notify_all();
  }
  void AwaitClosed(int count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return closed >= count; });
  }
  void AwaitStuck() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return stuck > 0; });
  }
  void Release() {
    const std::lock_guard<std::mutex> lock(mutex_);
    released = true;
    changed_.notify_all();
  }
  int Served() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return served;
  }

  IssueQuery last_query;
  WatchQuery last_watch;
  Status list_error;
  size_t endless_bytes = 0;  // if not 0, endlessly returns batches with one event of this size
  int opened = 0, closed = 0, served = 0;
  int stuck = 0;  // number of GetIssue("stuck") calls, which return after Release
  bool released = false;

 private:
  class Watch final : public IssueWatch {
   public:
    explicit Watch(ScriptedSource* source) : source_(source) {}
    ~Watch() override {
      const std::lock_guard<std::mutex> lock(source_->mutex_);
      ++source_->closed;
      source_->changed_.notify_all();
    }
    StatusOr<WatchBatch> Next(size_t, Duration timeout) override {
      std::unique_lock<std::mutex> lock(source_->mutex_);
      if (timeout == Duration::Zero()) return WatchBatch{{}, "start"};
      ++source_->served;
      if (source_->endless_bytes > 0 && !cancelled_) {
        return WatchBatch{{Event("e", source_->endless_bytes)}, Cat("t", source_->served)};
      }
      source_->changed_.wait(lock, [&] { return cancelled_ || !source_->batches_.empty(); });
      if (cancelled_) return Cancelled("cancelled");
      StatusOr<WatchBatch> batch = std::move(source_->batches_.front());
      source_->batches_.pop_front();
      return batch;
    }
    void Cancel() override {
      const std::lock_guard<std::mutex> lock(source_->mutex_);
      cancelled_ = true;
      source_->changed_.notify_all();
    }

   private:
    ScriptedSource* const source_;
    bool cancelled_ = false;
  };

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<StatusOr<WatchBatch>> batches_;
};

}  // namespace pitwall::grpc_adapter
