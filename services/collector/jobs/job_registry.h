// Registry of the jobs on this node, with their declarations and clients.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/collector/jobs/job_claim.h"
#include "services/collector/jobs/job_declaration.h"
#include "services/collector/jobs/recent_jobs.h"
#include "services/collector/jobs/reference_choice.h"
#include "services/collector/readers/series_reader.h"
#include "services/model/issues/platform_end.h"
#include "services/model/telemetry.h"

namespace pitwall::collector {

inline constexpr size_t kMaxClientLabels = 64;  // maximum per job, over all clients

// A bound job with the data that the sampler needs.
struct BoundJob {
  std::string id;
  std::string name;
  std::string owner;            // "" if unknown
  bool owner_declared = false;  // whether an option or a file declared the owner
  JobReference reference;
  JobReference announced;  // for jobs known only from clients: the reference in the first client's
                           // start event
  std::vector<Label> labels;
  std::vector<int> gpus;              // empty if unknown
  std::string cgroup;                 // empty if unknown
  std::vector<JobProcess> processes;  // processes of the job's clients, sorted
  bool by_client_only = false;        // known only from clients, which announced it
  bool present = false;               // declared by an option or file, or has a connected client
  bool deserted = false;              // known only from clients whose processes have all ended
};

// A job that has ended or has left this node.
struct EndedJob {
  std::string id;
  bool ended = false;  // whether the job has ended; if false, only this node releases it
  std::string reason;  // completed, failed, …
  std::optional<PlatformEnd> platform_end;  // exit data from a job file
};

// Value of `ended` in a job file if the attempt has ended and the job will be started again.
inline constexpr std::string_view kRequeued = "requeued";

struct BindingOptions {
  size_t max_jobs = 256;  // limit for jobs known only from clients; declared jobs have other limits
  int64_t completed_grace_ns = 0;
  int64_t failed_grace_ns = 0;
  int64_t lost_grace_ns = 0;
  size_t max_jobs_per_owner = 64;
};

// Jobs are bound by options (permanently), by files in the drop folder (while the files exist), and
// by clients. After all clients have sent their goodbyes, the job ends after a grace period. A new
// hello (a restart) within that period keeps the job. If a job has ranks on other nodes, only the
// node with rank 0 ends the job. Disconnected clients keep the job for `lost_grace_ns`, but not
// after their processes have exited: a job known only from clients is released when its last client
// process dies.
//
// Clients without a job ID and job start belong to one job if they have the same owner and name and
// run concurrently as different ranks. If the same rank appears in another process, it belongs to
// another run of the script.
//
// Clients whose launcher has restarted its workers (same launcher, owner, and name, and a higher
// kRestartCount) belong to the next attempt of the launcher's job, even if none of its clients is
// running.
//
// A job's owner is declared by an option or a file; otherwise, it is the first client's owner.
// Clients of other owners are refused. A declared owner replaces an owner that came from a client.
// The registry then forgets all data from the previous owner's clients.
//
// If a file ends a job, the job stays bound for kLastWordsNs, so that its clients' pending data and
// the exits of their processes can still be published.
//
// A job's reference comes from its option or file if there is one, and otherwise from its first
// client. If the client's reference is a process, it is replaced by the object that owns the pod of
// one of the job's ranks, if that object is known. Otherwise, if that process is no longer
// connected, the reference is the process of the lowest rank on this node. The other processes of
// the job on this node are appended ("<pid>@<node>/<start>+<pid>/<start>", or "+more" above the
// limit). Only clients that run as the same user as the first process count, so that no user can
// substitute their own process for another user's process.
//
// Thread-safe. Times are monotonic nanoseconds unless stated otherwise.
class JobRegistry {
 public:
  static constexpr int64_t kLastWordsNs = 1'000'000'000;

  explicit JobRegistry(const BindingOptions& options);

  void BindOption(const JobDeclaration& job);
  // Replaces the jobs from the drop folder. `ended` and `platform_end` come from the files of ended
  // jobs.
  struct DroppedJob {
    JobDeclaration job;
    std::string ended;  // reason of the end; "" while the job runs
    std::optional<PlatformEnd> platform_end;
    friend bool SameEnd(const DroppedJob& a, const DroppedJob& b) {
      return a.ended == b.ended && a.platform_end == b.platform_end;
    }
  };
  void SetDropped(const std::vector<DroppedJob>& jobs);

  struct Claimed {
    std::string job_id;
    bool first = false;  // whether the job was not known before
    std::string owner;   // owner of the job
    bool owner_declared = false;
    // Labels that are new to the job or have a new value.
    std::vector<Label> news;
  };
  // Adds a client to its job. `client` identifies the connection. Returns InvalidArgument if the
  // claim has neither an ID nor a name, or if the ID is invalid. Returns a Refusal if the job
  // belongs to another owner or if there are too many jobs.
  StatusOr<Claimed> Claim(uint64_t client, const JobClaim& claim);
  // Returns false if the client was released or its job has since been declared for another owner.
  bool Holds(uint64_t client) const;
  // Marks the client's source as published to the log. Until this call, the sampler does not see a
  // job known only from clients, so the node never sends an earlier promise for the job
  // (time-model.md 1.3).
  void Announced(uint64_t client);
  // Releases a disconnected client. `goodbye` is the reason in the client's goodbye (may be ""), or
  // nullopt if there was no goodbye.
  void Release(uint64_t client, const std::optional<std::string>& goodbye, int64_t now_ns);
  // A rank known to the previous collector process. `goodbye` is the reason in its goodbye, or
  // nullopt if its process may still be running.
  struct Known {
    std::string job;
    std::string owner;
    bool owner_declared = false;
    int64_t rank = 0;
    int64_t world_size = 0;
    std::optional<std::string> goodbye;
  };
  // Restores a rank known to the previous collector process, so that its job still ends after the
  // grace period. Must be called before any client is added.
  void Resume(const Known& known, int64_t now_ns);
  // Replaces the goodbye reason of a released rank once its exit status is known. Has no effect if
  // the job has ended or the rank is running again.
  void Amend(const std::string& job, int64_t rank, std::string_view reason);
  // Marks a rank that was released without a goodbye as dead, because its process has ended and
  // will not reconnect.
  void Died(const std::string& job, int64_t rank);

  // Sets the object that owns a rank's pod. Only the first object is used.
  void SetObject(const std::string& job, const JobReference& object);

  // Releases the jobs that have ended and returns them sorted by ID.
  std::vector<EndedJob> Expire(int64_t now_ns);
  // Returns the bound jobs sorted by ID. `*version` increases with each change.
  std::vector<BoundJob> Jobs(uint64_t* version) const;
  uint64_t version() const;

 private:
  struct Job {
    BoundJob view;                     // the reference in it comes from the option or file
    std::vector<std::string> members;  // additional owners whose clients may join
    ReferenceChoice reference;
    bool by_option = false;
    bool by_drop = false;
    bool had_client = false;
    bool announced = false;  // whether a client's source is in the log
    std::map<std::string, std::string, std::less<>> client_labels;  // at most kMaxClientLabels
    DroppedJob dropped_end;                                         // only the exit data is used
    std::optional<int64_t> dropped_end_at_ns;                       // time of the file's `ended`
    JobClients clients;
    int64_t world_size = 0;
    // Goodbye reasons of ranks that have not sent another hello since.
    std::map<int64_t, std::string> goodbyes;
    std::set<int64_t> lost;  // ranks that disconnected without a goodbye
    std::set<int64_t> away;  // subset of `lost` whose processes may still run
    int64_t empty_since_ns = 0;
  };

  Job* Find(std::string_view id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static bool MayJoin(const Job& job, std::string_view owner);
  // Applies the owner and members declared by an option or file. Releases clients that may no
  // longer belong to the job.
  void Declare(Job& job, const JobDeclaration& option) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status CheckShares(const JobClaim& claim, const std::string& id) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns true if another process is already running as this rank.
  static bool RunsElsewhere(const Job& job, const JobClaim& claim);
  std::string IdOf(const JobClaim& claim) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns true if the job's end is in the log. Later data would be dropped.
  bool HasEnded(std::string_view job) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const BindingOptions options_;
  mutable Mutex mutex_;
  std::map<std::string, Job, std::less<>> jobs_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, std::string> client_jobs_ ABSL_GUARDED_BY(mutex_);
  RecentLaunches launches_ ABSL_GUARDED_BY(mutex_);
  RecentEnds ended_ ABSL_GUARDED_BY(mutex_);  // an existing file does not bind these jobs again
  uint64_t version_ ABSL_GUARDED_BY(mutex_) = 1;
};

// Checks that a job ID is not empty, has at most 256 bytes, contains no control characters, and
// does not start with "__" or "node:".
Status CheckJobId(std::string_view id);

}  // namespace pitwall::collector
