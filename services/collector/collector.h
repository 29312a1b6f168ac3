// The collector: one per node. Samples the node, listens to its training processes, publishes both
// as telemetry.
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
#include "services/collector/metrics/counters.h"
#include "services/io/http_transport.h"
#include "services/io/io.h"
#include "services/model/issues/capture.h"

namespace pitwall::collector {

struct Options {
  std::string node;                   // empty: the machine's host name
  int64_t interval_ns = 500'000'000;  // one of Collector::Intervals()
  std::vector<JobDeclaration> jobs;
  // Unix stream socket of the clients; empty: none. A path longer than 107 bytes is refused.
  std::string socket_path;
  uint32_t socket_mode = 0666;
  std::string socket_group;  // name or number; empty: as the system gives it
  // What clients may use, all together and those of one owner.
  struct Limits {
    size_t clients = 1024;  // connections
    size_t clients_per_owner = 256;
    size_t bytes_per_second_per_owner = 16u << 20;
    size_t jobs = 256;  // that nothing but clients has made known
    size_t jobs_per_owner = 64;
    int64_t hello_timeout_ns = 10'000'000'000;
    // Without a message. Clients beat each second, but a rank that is frozen or holds the GIL does
    // not: its process is watched, and its stacks are captured, only while it is connected.
    int64_t idle_timeout_ns = 1'800'000'000'000;
  };
  Limits limits;
  // Directory with one file per job, written by a prolog and removed by an epilog; empty: none. See
  // jobs/job_file_directory.h.
  std::string drop_dir;
  // How ranks in pods ended, by the status of their containers, and with `owners` whose pods those
  // are (pods/pod_watch.h); without a url nobody is asked. The transport is borrowed.
  struct Pods {
    std::string url;
    std::string token_file;
    HttpTransport* transport = nullptr;
    bool owners = false;
  };
  Pods pods;
  // Directory for what cannot be published now; empty: only the memory queue. One collector per
  // directory.
  std::string spool_dir;
  uint64_t spool_bytes = 1ull << 30;
  size_t queue_bytes = 8u << 20;
  // Parent of /proc, /sys; for containers that see the host's elsewhere, and for tests.
  std::string root = "/";
  bool gpus = true;
  std::string nvml_library = "libnvidia-ml.so.1";
  // A collector's own promise stays this far behind its time, so that a client can say hello before
  // the promise passes its start (time-model.md 1.3). 0 without a socket.
  int64_t join_slack_ns = 250'000'000;
  // A job whose local ranks have all said goodbye ends after this long without a new hello.
  int64_t completed_grace_ns = 5'000'000'000;
  int64_t failed_grace_ns = 60'000'000'000;
  // A job known only by clients that vanished without goodbye is let go after this long.
  int64_t lost_grace_ns = 600'000'000'000;
  // Takes each rank's answer to a capture, on the socket thread: it must not wait. Null: nobody
  // does.
  std::function<void(RankCapture)> deliver_capture;
  // Passes on a job owner's request to all collectors; must not wait.
  std::function<Status(CaptureRequest)> ask_capture;
  // Boot ids; empty: random.
  std::function<std::string()> new_boot_id;
};

// Threads: sampler (owns what is read of the node), socket server (owns the clients), publisher
// (owns the appender calls), GPU reader. All methods may be called from any thread. The clock and
// the appender are borrowed and must outlive it. Destroying it stops it.
class Collector {
 public:
  // Only checks the options. InvalidArgument names the option.
  static StatusOr<std::unique_ptr<Collector>> Create(const Options& options, Clock& clock,
                                                     Appender* appender);
  ~Collector();
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  // Opens spool and socket and starts the threads. On error nothing runs.
  Status Start();
  // Says goodbye for the node (ranks go on: the next collector takes them up again), publishes or
  // spools what is left, joins the threads. Idempotent.
  void Stop();
  // Start, then waits until Stop or RequestStop was called elsewhere, then Stop.
  Status Run();
  // Ends Run; from any thread, not from a signal handler. Returns at once.
  void RequestStop();

  // Captures the ranks of a job that are here; returns at once.
  void RequestCapture(CaptureRequest request);

  // Takes effect at the next tick. InvalidArgument: not one of Intervals().
  Status SetInterval(int64_t interval_ns);
  // 100, 200, 500, 1000, 5000, 60000 ms.
  static const std::vector<int64_t>& Intervals();

  // Every counter of ours, zeros included, in a fixed order.
  std::vector<CounterValue> Counters() const;
  // Unavailable: records have not been published for 10 s. Thread-safe.
  Status Health() const;
  // Ids of the jobs that are bound now, sorted.
  std::vector<std::string> BoundJobs() const;
  const std::string& node() const;

 private:
  struct Impl;
  explicit Collector(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pitwall::collector
