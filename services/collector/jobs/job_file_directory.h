// Jobs that a prolog has written down in a directory.
#pragma once

#include <ctime>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/status.h"
#include "services/collector/jobs/job_registry.h"
#include "services/collector/metrics/counters.h"

namespace pitwall::collector {

// One file per job, text, one `key=value` per line; blank lines and lines that begin with # are
// skipped:
//   job_id=…               (required)
//   job_name=…
//   platform=, cluster=, namespace=, kind=, name=, uid=, queue=      the job's reference
//   owner=alice            whose job it is: a user's name, uid:<number> or pod:<uid of a pod>
//   members=root,pod:…     further owners whose processes are of the job
//   gpus=0,1,2             the job's GPUs, by index
//   cgroup=/slurm/job_17   below the cgroup file system
//   label.<name>=<value>
//   ended=completed        the job is over: completed, failed, died, cancelled or stopped;
//   requeued:
//                          this attempt is over, and the job will be started again
//   exit_code=3, signal=9  with ended: how, as the platform knows it; 0 to 255
//   oom_killed=true        with ended: the kernel killed a process of it for lack of memory
//   cause=time limit       with ended: in the platform's words, at most 100 bytes
// Write it elsewhere and rename it into the directory: names that begin with a dot or end in .tmp
// are not read. The job is bound as long as the file is there.
//
// Only what root, or the user of this process, has written counts, since a file says whose job it
// is and what to stop: a directory or a file that others may write is refused.
//
// At most 256 files of at most 64 KiB. Not thread-safe.
class JobFileDirectory {
 public:
  // The counters are borrowed.
  JobFileDirectory(std::string dir, Counters* counters)
      : dir_(std::move(dir)), counters_(counters) {}

  // Whether files have come, gone or been renamed since the last poll.
  bool Changed() const;
  // Reads the directory, in the order of names. A file that cannot be used is counted and logged
  // once per content; of two files of one job the first counts. What cannot be read for want of
  // descriptors or memory, or for an I/O error, is as it was at the last poll.
  std::vector<JobRegistry::DroppedJob> Poll();

  // InvalidArgument names line and cause.
  static StatusOr<JobRegistry::DroppedJob> Parse(std::string_view text);

 private:
  StatusOr<JobRegistry::DroppedJob> ParseOnce(const std::string& path,
                                              const std::string& text) const;
  // Logs and counts what was not said the last time.
  void Say(std::vector<std::string> complaints);

  const std::string dir_;
  Counters* const counters_;
  // The jobs of the last poll, in the order of file names.
  std::vector<JobRegistry::DroppedJob> KnownJobs() const;

  timespec polled_ = {};  // change time of the directory at the last poll
  // Of the last poll, by path.
  std::map<std::string, std::pair<std::string, JobRegistry::DroppedJob>, std::less<>> known_;
  std::vector<std::string> complaints_;
};

}  // namespace pitwall::collector
