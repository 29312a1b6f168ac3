// Load generator in a separate process, so that its memory and CPU time are not attributed to the
// consumer.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "services/base/status.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/io/topics.h"
#include "services/loadgen/load_run.h"
#include "tests/insights/pipe_log.h"

namespace pitwall::history {

// Writes records to a pipe. The start event of a job precedes the job's first record.
class RecordWriter final : public loadgen::LoadSink {
 public:
  struct Head {  // Header of a record. The final record has neither topic nor key, and its value
                 // contains the totals.
    enum class Topic : uint8_t { kTelemetry, kIssues, kTotals } topic;
    int64_t time_ns;
    uint32_t key_bytes, value_bytes;
  };
  struct Totals {
    loadgen::LoadTotals load;
    uint64_t jobs;
  };

  explicit RecordWriter(std::FILE* to) : to_(to) {}
  Status Deliver(int64_t arrival_ns, std::string_view key, std::string value, int32_t) override {
    last_ns_ = std::max(last_ns_, arrival_ns);
    if (key != kControlKey && jobs_.emplace(key).second) Changed(std::string(key), true);
    return Put(Head::Topic::kTelemetry, arrival_ns, key, value);
  }
  Status Reach(int64_t) override { return OkStatus(); }
  int32_t partitions() const override { return 1; }
  Status Finish(const loadgen::LoadTotals& load) {
    for (const std::string& job : jobs_) Changed(job, false);
    const Totals totals = {load, jobs_.size()};
    const Status put =
        Put(Head::Topic::kTotals, 0, "", {reinterpret_cast<const char*>(&totals), sizeof(totals)});
    return std::fflush(to_) == 0 ? put : Unavailable("the load's pipe is closed");
  }

 private:
  Status Put(Head::Topic topic, int64_t time_ns, std::string_view key, std::string_view value) {
    const Head head = {topic, time_ns, static_cast<uint32_t>(key.size()),
                       static_cast<uint32_t>(value.size())};
    const bool written = std::fwrite(&head, sizeof(head), 1, to_) == 1 &&
                         std::fwrite(key.data(), 1, key.size(), to_) == key.size() &&
                         std::fwrite(value.data(), 1, value.size(), to_) == value.size();
    return written ? OkStatus() : Unavailable("the load's pipe is closed");
  }
  void Changed(const std::string& job, bool begins) {
    IssueEvent event;
    event.type = EventType::kJobChanged;
    event.job = job;
    event.time = EventTime::FromNs(last_ns_);
    event.attempt = 1;
    event.sequence = begins ? 1 : 3;
    std::vector<JobChange> changes = {JobChange::kAttemptEnded, JobChange::kEnded};
    if (begins) changes = {JobChange::kStarted, JobChange::kAttemptBegan};
    for (const JobChange change : changes) {
      event.job_change = change;
      event.end_detail = begins ? EndDetail::kNone : EndDetail::kCompleted;
      event.id = MakeEventId(event);
      // Ignores the error: if the pipe is closed, the next record fails too.
      (void)Put(Head::Topic::kIssues, last_ns_, job, cloudevents::EncodeCloudEvent(event));
      ++event.sequence;
    }
  }

  std::FILE* const to_;
  std::set<std::string> jobs_;
  int64_t last_ns_ = 0;
};

class LoadProcess {
 public:
  // Must be called before this process creates threads.
  static StatusOr<std::unique_ptr<LoadProcess>> Start(const loadgen::LoadPlan& plan) {
    int ends[2];
    if (::pipe(ends) != 0) return Unavailable(Cat("pipe: ", std::strerror(errno)));
    const pid_t child = ::fork();
    if (child < 0) return Unavailable(Cat("fork: ", std::strerror(errno)));
    if (child == 0) {
      ::close(ends[0]);
      RecordWriter writer(::fdopen(ends[1], "w"));
      loadgen::LoadRun load(plan, &writer);
      Status made = load.Run([](const loadgen::Planted&) {});
      if (made.ok()) made = writer.Finish(load.totals());
      ::_exit(made.ok() ? 0 : 1);
    }
    ::close(ends[1]);
    return std::unique_ptr<LoadProcess>(new LoadProcess(child, ::fdopen(ends[0], "r")));
  }
  ~LoadProcess() {
    std::fclose(from_);  // Ends a child that is still writing.
    ::waitpid(child_, nullptr, 0);
  }
  LoadProcess(const LoadProcess&) = delete;
  LoadProcess& operator=(const LoadProcess&) = delete;

  // Forwards all records to the log, as fast as the log accepts them.
  StatusOr<RecordWriter::Totals> Forward(PipeLog* log) {
    while (true) {
      RecordWriter::Head head;
      RETURN_IF_ERROR(Read(&head, sizeof(head)));
      std::string key(head.key_bytes, 0), value(head.value_bytes, 0);
      RETURN_IF_ERROR(Read(key.data(), key.size()));
      RETURN_IF_ERROR(Read(value.data(), value.size()));
      if (head.topic == RecordWriter::Head::Topic::kTotals) {
        RecordWriter::Totals totals;
        std::memcpy(&totals, value.data(), sizeof(totals));
        return totals;
      }
      const bool telemetry = head.topic == RecordWriter::Head::Topic::kTelemetry;
      log->Put(telemetry ? kTelemetryTopic : kIssuesTopic, head.time_ns, key, std::move(value));
    }
  }

 private:
  LoadProcess(pid_t child, std::FILE* from) : child_(child), from_(from) {}
  Status Read(void* to, size_t bytes) {
    return std::fread(to, 1, bytes, from_) == bytes
               ? OkStatus()
               : Unavailable("the load process exited before its last record");
  }

  const pid_t child_;
  std::FILE* const from_;
};

}  // namespace pitwall::history
