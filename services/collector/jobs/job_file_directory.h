// Drop folder for job files written by a scheduler's prolog and epilog.
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

// Each job has one text file with one `key=value` per line. Blank lines and lines that start with #
// are skipped:
//   job_id=…               (required)
//   job_name=…
//   platform=, cluster=, namespace=, kind=, name=, uid=, queue=      the job's reference
//   owner=alice            the job's owner: a user name, uid:<number>, or pod:<uid of a pod>
//   members=root,pod:…     additional owners whose processes belong to the job
//   gpus=0,1,2             the job's GPUs, by index
//   cgroup=/slurm/job_17   below the cgroup file system
//   label.<name>=<value>
//   ended=completed        the job has ended: completed, failed, died, cancelled, or stopped;
//   ended=requeued         this attempt has ended, and the job will be started again
//   exit_code=3, signal=9  with ended: exit status reported by the platform; 0 to 255
//   oom_killed=true        with ended: the kernel killed a process of the job for lack of memory
//   cause=time limit       with ended: the platform's description, at most 100 bytes
// Write the file elsewhere and rename it into the directory. Names that start with a dot or end in
// .tmp are ignored. The job is bound while its file exists.
//
// A file determines the job's owner and which processes may be stopped. Files and directories that
// users other than root and this process's user may write are therefore rejected.
//
// At most 256 files of at most 64 KiB. Not thread-safe.
class JobFileDirectory {
 public:
  // The caller owns the counters.
  JobFileDirectory(std::string dir, Counters* counters)
      : dir_(std::move(dir)), counters_(counters) {}

  // Returns true if files were added, removed, or renamed since the last poll.
  bool Changed() const;
  // Reads the files in order of their names. An invalid file is counted, and is logged once per
  // version of its content. If two files declare the same job, the first file is used. If a file
  // cannot be read because of an I/O error or a lack of descriptors or memory, its job from the
  // last poll is kept.
  std::vector<JobRegistry::DroppedJob> Poll();

  // Parses a job file. Returns InvalidArgument, with the line and the cause, if the text is
  // invalid.
  static StatusOr<JobRegistry::DroppedJob> Parse(std::string_view text);

 private:
  StatusOr<JobRegistry::DroppedJob> ParseOnce(const std::string& path,
                                              const std::string& text) const;
  // Logs and counts complaints that are new since the last poll.
  void Report(std::vector<std::string> complaints);

  const std::string dir_;
  Counters* const counters_;
  // Returns the jobs from the last poll, in order of their file names.
  std::vector<JobRegistry::DroppedJob> KnownJobs() const;

  timespec polled_ = {};  // modification time of the directory at the last poll
  // Text and job of each file from the last poll, by path.
  std::map<std::string, std::pair<std::string, JobRegistry::DroppedJob>, std::less<>> known_;
  std::vector<std::string> complaints_;
};

}  // namespace pitwall::collector
