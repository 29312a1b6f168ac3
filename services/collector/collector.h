// Per-node collector. It samples the node, receives data from the node's training processes, and
// publishes both as telemetry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/collector/jobs/job_declaration.h"
#include "services/io/http_transport.h"
#include "services/io/io.h"
#include "services/model/issues/capture.h"
#include "services/self_metrics/exposition.h"

namespace pitwall::collector {

struct Options {
  std::string node;                   // if empty, the machine's host name is used
  int64_t interval_ns = 500'000'000;  // one of Collector::Intervals()
  std::vector<JobDeclaration> jobs;
  // Path of the Unix stream socket for clients. If empty, there is no socket. Paths longer than 107
  // bytes are rejected.
  std::string socket_path;
  uint32_t socket_mode = 0666;
  std::string socket_group;  // name or number; if empty, the default group is used
  // Limits for all clients together and for each owner's clients.
  struct Limits {
    size_t clients = 1024;  // maximum number of connections
    size_t clients_per_owner = 256;
    size_t bytes_per_second_per_owner = 16u << 20;
    size_t jobs = 256;  // maximum number of jobs known only from clients
    size_t jobs_per_owner = 64;
    int64_t hello_timeout_ns = 10'000'000'000;
    // Maximum time without a message. Clients send a heartbeat every second unless the rank is
    // frozen or holds the GIL. Such a rank must stay connected, because its process can be watched
    // and its stacks captured only while it is connected.
    int64_t idle_timeout_ns = 1'800'000'000'000;
  };
  Limits limits;
  // Directory with one file per job, written by a prolog and removed by an epilog
  // (jobs/job_file_directory.h). If empty, no directory is read.
  std::string drop_dir;
  // Source for the exit status of ranks in pods and, with `owners`, for the pods' owners
  // (pods/pod_watch.h). Disabled if the URL is empty. The caller owns the transport.
  struct Pods {
    std::string url;
    std::string token_file;
    HttpTransport* transport = nullptr;
    bool owners = false;
  };
  Pods pods;
  // Directory for records that cannot be published yet. If empty, records are kept only in the
  // memory queue. Each collector needs a separate directory.
  std::string spool_dir;
  uint64_t spool_bytes = 1ull << 30;
  size_t queue_bytes = 8u << 20;
  // Parent directory of /proc and /sys. Used in tests and in containers that mount the host's files
  // elsewhere.
  std::string root = "/";
  bool gpus = true;
  std::string nvml_library = "libnvidia-ml.so.1";
  // Lag of the node's promise behind its last tick. The lag gives clients time to send a hello
  // before the promise passes their start (time-model.md 1.3). 0 without a socket.
  int64_t join_slack_ns = 250'000'000;
  // Periods for which a job stays bound after its clients have left.
  struct Grace {
    // Grace period between the goodbyes of all local ranks and the end of the job. A new hello
    // within this period cancels the end.
    int64_t completed_ns = 5'000'000'000;
    int64_t failed_ns = 60'000'000'000;
    // Time after which a job known only from clients is released if all of them disconnected
    // without a goodbye.
    int64_t lost_ns = 600'000'000'000;
  };
  Grace grace;
  // Receives each rank's capture result on the socket thread. Must not block. May be null.
  std::function<void(RankCapture)> deliver_capture;
  // Forwards a job owner's request to all collectors. Must not block.
  std::function<Status(CaptureRequest)> ask_capture;
  // Generates boot IDs. If empty, boot IDs are random.
  std::function<std::string()> new_boot_id;
};

// Runs the sampler thread (which owns the node's readings), the socket server thread (which owns
// the clients), the publisher thread (which calls the appender), and the GPU reader thread. All
// methods are thread-safe. The caller owns the clock, the appender, and the exposition, which may
// be null. They must outlive the collector. The destructor stops the collector.
class Collector {
 public:
  // Validates the options without starting the collector. Returns InvalidArgument with the option's
  // name.
  static StatusOr<std::unique_ptr<Collector>> Create(
      const Options& options, Clock& clock, Appender* appender,
      self_metrics::Exposition* exposition = nullptr);
  ~Collector();
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  // Opens the spool and the socket and starts the threads. After an error, no thread is running.
  Status Start();
  // Sends the node's goodbyes, publishes or spools the remaining records, and joins the threads.
  // Ranks receive no goodbye, because the next collector resumes them. Idempotent.
  void Stop();
  // Starts the collector, waits until Stop or RequestStop is called on another thread, and then
  // stops the collector.
  Status Run();
  // Makes Run return. Does not block. Thread-safe, but must not be called from signal handlers.
  void RequestStop();

  // Captures the job's ranks on this node. Returns without waiting for the result.
  void RequestCapture(CaptureRequest request);

  // Sets the sampling interval, starting at the next tick. Returns InvalidArgument if the interval
  // is not one of Intervals().
  Status SetInterval(int64_t interval_ns);
  // Returns 100, 200, 500, 1000, 5000, and 60000 ms.
  static const std::vector<int64_t>& Intervals();

  // Returns Unavailable if pending records have not been published for 10 s. Thread-safe.
  Status Health() const;
  // Returns the sorted IDs of the bound jobs.
  std::vector<std::string> BoundJobs() const;
  const std::string& node() const;

 private:
  struct Impl;
  explicit Collector(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pitwall::collector
