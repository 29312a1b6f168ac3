// Jobs that run on this node, and the evidence for each.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/collector/jobs/job_declaration.h"
#include "services/collector/readers/series_reader.h"
#include "services/model/issues/platform_end.h"
#include "services/model/telemetry.h"

namespace pitwall::collector {

// What a client's hello says about its job.
struct JobClaim {
  std::string job_id;  // may be empty
  std::string job_name;
  int64_t job_start_ns = 0;  // 0: not known
  int64_t client_start_ns = 0;
  JobReference reference;
  std::vector<Label> labels;
  int64_t rank = 0;
  int64_t world_size = 0;
  std::string boot_id;
  int64_t pid = 0;    // as this process sees it; 0: not known
  int64_t user = -1;  // its user id; -1: not known
  std::string owner;  // what the kernel says: "uid:1000", "pod:<uid>"; "": not known
  // Parent of the client's process, "<pid>@<start>"; "": not known.
  std::string launcher;
};

// Label of a client that counts the restarts of its launcher's workers (torchrun).
inline constexpr std::string_view kRestartCount = "torchelastic_restart_count";

inline constexpr std::string_view kProcessPlatform = "process";  // of a reference

inline constexpr size_t kMaxReferenceProcesses = 128;  // of one job, in its reference

inline constexpr size_t kMaxClientLabels = 64;  // of one job, over all its clients

// A job as the sampler needs it.
struct BoundJob {
  std::string id;
  std::string name;
  std::string owner;            // "": not known
  bool owner_declared = false;  // by an option or a file
  JobReference reference;
  JobReference
      announced;  // of a job known by clients alone: what the first of them said in the log
  std::vector<Label> labels;
  std::vector<int> gpus;              // empty: not known
  std::string cgroup;                 // empty: not known
  std::vector<JobProcess> processes;  // of its clients, sorted
  bool by_client_only = false;        // known by clients alone: they announced it
  bool present = false;               // by option, by file, or a client is here now
  bool deserted = false;  // known by clients alone, and none of their processes is here any more
};

// A job that is over on this node.
struct EndedJob {
  std::string id;
  bool ended = false;                       // the job itself; else only this node lets it go
  std::string reason;                       // completed, failed, …
  std::optional<PlatformEnd> platform_end;  // what a file says of how it ended
};

// The `ended` of a file whose job will be started again: this attempt is over.
inline constexpr std::string_view kRequeued = "requeued";

struct BindingOptions {
  size_t max_jobs = 256;  // that clients alone made known; declared ones have their own bounds
  int64_t completed_grace_ns = 0;
  int64_t failed_grace_ns = 0;
  int64_t lost_grace_ns = 0;
  size_t max_jobs_per_owner = 64;
};

// Jobs are bound by options (for ever), by files in the drop folder (as long as they are there) and
// by clients. A job whose clients have all said goodbye ends after a grace, in which a new hello (a
// restart) keeps it; only the node that has rank 0 ends a job whose other ranks are elsewhere.
// Clients whose connection was lost keep it for `lost_grace_ns`, but not beyond the end of their
// processes: a job known by clients alone, the last of which has died, is let go at once.
//
// Clients with neither a job id nor the job's start are of one job when they have one owner and one
// name and run together, as different ranks: the same rank again, as another process, is another
// run of the script.
//
// Clients whose launcher has restarted its workers (a higher kRestartCount, the same launcher,
// owner and name) are the next attempt of the launcher's job, also when none of its clients runs.
//
// A job has one owner: the one that an option or a file declares, else its first client's. Clients
// of others are refused. A declaration displaces the owner that clients gave the job, with all that
// its clients said of it.
//
// A job that a file ends has kLastWordsNs for what its clients still say, and for the ends of their
// processes.
//
// The reference of a job is what option or file say; else its first client's. When that is a
// process, it is the object that owns the pod of one of its ranks, where that is known; else, where
// it has left, the lowest rank's that is here, and the other processes of the job on this node
// ("<pid>@<node>/<start>+<pid>/<start>", "+more" instead where there are too many). Only clients of
// the user whose process came first count, so that nobody can put his own process in the place of
// another's.
//
// Thread-safe. Times are monotonic nanoseconds
// where not said otherwise.
class JobRegistry {
 public:
  static constexpr int64_t kLastWordsNs = 1'000'000'000;

  explicit JobRegistry(const BindingOptions& options);

  void BindOption(const JobDeclaration& job);
  // All jobs of the drop folder at this moment. `reasons`: for files that say how their job ended.
  struct DroppedJob {
    JobDeclaration job;
    std::string ended;  // reason, or "": it runs
    std::optional<PlatformEnd> platform_end;
    friend bool SameEnd(const DroppedJob& a, const DroppedJob& b) {
      return a.ended == b.ended && a.platform_end == b.platform_end;
    }
  };
  void SetDropped(const std::vector<DroppedJob>& jobs);

  struct Claimed {
    std::string job_id;
    bool first = false;  // nobody knew the job before
    std::string owner;   // of the job
    bool owner_declared = false;
    // Labels that nobody had said of the job so far, or that had another value.
    std::vector<Label> news;
  };
  // `client` is unique for the connection. InvalidArgument: neither id nor name, or an id that is
  // not allowed; else a Refusal: the job is another owner's, or there are too many.
  StatusOr<Claimed> Claim(uint64_t client, const JobClaim& claim);
  // False: the client's job was declared for another owner since, or the client has been released.
  bool Holds(uint64_t client) const;
  // The client's source is in the log now: only from here on the sampler may see a job that it
  // alone made known, so that the node never promises anything about the job before
  // (time-model.md 1.3).
  void Announced(uint64_t client);
  // The client is gone: with a goodbye (its reason may be ""), or without.
  void Release(uint64_t client, const std::optional<std::string>& goodbye, int64_t now_ns);
  // A rank that the collector before this one knew, and its reason if it said goodbye; else its
  // process may still run.
  struct Known {
    std::string job;
    std::string owner;
    bool owner_declared = false;
    int64_t rank = 0;
    int64_t world_size = 0;
    std::optional<std::string> goodbye;
  };
  // Before any client: the job's end, which the collector before this one owed, follows its grace.
  void Resume(const Known& known, int64_t now_ns);
  // The rank was released, and its exit status has decided how it ended: `reason` is that of a
  // goodbye. Fine for a job that is over, and for a rank that runs again.
  void Amend(const std::string& job, int64_t rank, std::string_view reason);
  // The process of a rank that was released without goodbye has ended: it does not come back.
  void Died(const std::string& job, int64_t rank);

  // The object that owns the pod of one of the job's ranks. The first that is said stays.
  void SetObject(const std::string& job, const JobReference& object);

  // Lets go of what is over, in the order of ids.
  std::vector<EndedJob> Expire(int64_t now_ns);
  // In the order of ids. `*version` grows with each change.
  std::vector<BoundJob> Jobs(uint64_t* version) const;
  uint64_t version() const;

 private:
  struct Client {
    int64_t rank = 0;
    std::string boot_id;
    int64_t pid = 0;
    int64_t user = -1;
    std::string owner;
    JobReference reference;
  };
  struct Job {
    BoundJob view;                     // its reference: of option or file
    std::vector<std::string> members;  // owners that may speak for it beside its own
    JobReference by_client;            // where those say nothing
    JobReference by_pod;               // where that is a process
    int64_t user = -1;                 // whose clients may say it; -1: nobody has yet
    bool by_option = false;
    bool by_drop = false;
    bool had_client = false;
    bool announced = false;  // a client's source is in the log
    std::map<std::string, std::string, std::less<>> client_labels;  // at most kMaxClientLabels
    DroppedJob dropped_end;                                         // only what it says of the end
    std::optional<int64_t> dropped_end_at_ns;                       // since when
    std::map<uint64_t, Client> clients;
    int64_t world_size = 0;
    // Of the ranks that said goodbye since the last hello of each.
    std::map<int64_t, std::string> goodbyes;
    std::set<int64_t> lost;  // ranks that vanished without one
    std::set<int64_t> away;  // … of those, the ones whose process may still run
    int64_t empty_since_ns = 0;
  };

  Job* Find(std::string_view id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void ChooseReference(Job& job);
  static JobReference ReferenceOf(const Job& job);
  // Appends the other processes of the job to the reference's uid.
  static void AddProcesses(const Job& job, std::string* uid);
  static bool MaySpeak(const Job& job, std::string_view owner);
  // Takes over owner and members of an option or a file; clients that may not speak for the job any
  // more are let go.
  void Declare(Job& job, const JobDeclaration& option) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status CheckShares(const JobClaim& claim, const std::string& id) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether the rank runs there already, as another process.
  static bool RunsElsewhere(const Job& job, const JobClaim& claim);
  std::string IdOf(const JobClaim& claim) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Last job of a launcher, for the restarts of its workers.
  struct Launch {
    std::string launcher, owner, name;
    std::string job;
    uint64_t restarts = 0;
  };
  const Launch* LaunchOf(const JobClaim& claim) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Its end is in the log: more of it would be dropped.
  bool HasEnded(std::string_view job) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Remember(const JobClaim& claim, const std::string& job)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const BindingOptions options_;
  mutable Mutex mutex_;
  std::map<std::string, Job, std::less<>> jobs_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, std::string> client_jobs_ ABSL_GUARDED_BY(mutex_);
  std::deque<Launch> launches_ ABSL_GUARDED_BY(mutex_);  // oldest first
  struct Ended {
    std::string id;
    std::string owner;
    bool declared = false;
  };
  std::deque<Ended> ended_
      ABSL_GUARDED_BY(mutex_);  // the last ones: a file that is still there binds them no more
  uint64_t version_ ABSL_GUARDED_BY(mutex_) = 1;
};

// Whether a text may be a job's id: not empty, at most 256 bytes, no control characters, no leading
// "__" or "node:".
Status CheckJobId(std::string_view id);

}  // namespace pitwall::collector
