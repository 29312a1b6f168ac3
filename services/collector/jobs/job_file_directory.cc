#include "services/collector/jobs/job_file_directory.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <iterator>
#include <map>

#include "services/base/log.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/collector/files/proc_file.h"
#include "services/collector/files/text_scan.h"
#include "services/collector/files/trusted_path.h"
#include "services/collector/jobs/owner_name.h"

namespace pitwall::collector {
namespace {
constexpr size_t kMaxFiles = 256;
constexpr size_t kMaxBytes = 64u << 10;
constexpr size_t kMaxLabels = 32;
constexpr size_t kMaxText = 1024;
constexpr size_t kMaxCause = 100;  // limited because the cause becomes a label
constexpr std::string_view kEnds[] = {"completed", "failed",  "died",
                                      "cancelled", "stopped", kRequeued};
}  // namespace

StatusOr<JobRegistry::DroppedJob> JobFileDirectory::Parse(std::string_view text) {
  JobRegistry::DroppedJob out;
  JobDeclaration& job = out.job;
  PlatformEnd end;
  TextScan lines(text);
  std::string_view line;
  for (int number = 1; lines.Line(&line); ++number) {
    line = Trim(line);
    if (line.empty() || line[0] == '#') continue;
    auto bad = [&](std::string_view why) {
      return InvalidArgument(Cat("line ", number, ": ", why, ": ", Quote(TerminalLine(line))));
    };
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) return bad("must be key=value");
    const std::string_view key = Trim(line.substr(0, equals));
    const std::string value(Trim(line.substr(equals + 1)));
    if (value.size() > kMaxText) return bad("value too long");
    if (HasControl(line)) return bad("must not contain control characters");
    if (key == "job_id") {
      job.id = value;
    } else if (key == "job_name") {
      job.name = value;
    } else if (key == "platform") {
      job.reference.platform = value;
    } else if (key == "cluster") {
      job.reference.cluster = value;
    } else if (key == "namespace") {
      job.reference.namespace_name = value;
    } else if (key == "kind") {
      job.reference.kind = value;
    } else if (key == "name") {
      job.reference.name = value;
    } else if (key == "uid") {
      job.reference.uid = value;
    } else if (key == "queue") {
      job.reference.queue = value;
    } else if (key == "owner") {
      auto owner = ParseOwner(value);
      if (!owner.ok()) return bad(ToStd(owner.status().message()));
      job.owner = *std::move(owner);
    } else if (key == "members") {
      auto members = ParseOwners(value);
      if (!members.ok()) return bad(ToStd(members.status().message()));
      job.members = *std::move(members);
    } else if (key == "cgroup") {
      if (value.find("..") != std::string::npos) return bad("must be a cgroup path");
      job.cgroup = value;
    } else if (key == "gpus") {
      for (std::string_view part : Split(value, ',')) {
        const auto gpu = TextScan::ToNumber(Trim(part));
        if (!gpu.has_value() || *gpu > INT_MAX) return bad("must be a list of GPU indices");
        job.gpus.push_back(static_cast<int>(*gpu));
      }
    } else if (key == "ended") {
      if (std::find(std::begin(kEnds), std::end(kEnds), value) == std::end(kEnds))
        return bad("must be completed, failed, died, cancelled, stopped, or requeued");
      out.ended = value;
    } else if (key == "exit_code" || key == "signal") {
      const auto status = TextScan::ToNumber(value);
      if (!status.has_value() || *status > 255) return bad("must be between 0 and 255");
      (key == "signal" ? end.signal : end.exit_code) = static_cast<int32_t>(*status);
    } else if (key == "oom_killed") {
      if (value != "true" && value != "false") return bad("must be true or false");
      end.oom_killed = value == "true";
    } else if (key == "cause") {
      if (value.size() > kMaxCause) return bad("cause too long");
      end.cause = value;
    } else if (StartsWith(key, "label.") && key.size() > 6) {
      if (job.labels.size() == kMaxLabels) return bad("too many labels");
      job.labels.push_back({std::string(key.substr(6)), value});
    } else {
      return bad("unknown key");
    }
  }
  RETURN_IF_ERROR(CheckJobId(job.id));
  if (job.owner.empty() && !job.members.empty())
    return InvalidArgument("members requires an owner; add owner=");
  if (out.ended.empty()) {
    if (end != PlatformEnd{})
      return InvalidArgument("exit_code, signal, oom_killed, and cause require an end; add ended=");
    return out;
  }
  end.on_purpose = out.ended == "cancelled" || out.ended == kRequeued;
  // Files in earlier formats contain only the reason.
  if (end != PlatformEnd{}) out.platform_end = std::move(end);
  return out;
}

namespace {

// Returns true for a temporary error that is caused by this machine, not by the file.
bool MayPass(const Status& status) {
  return absl::IsResourceExhausted(status) || absl::IsUnavailable(status) ||
         absl::IsInternal(status) || absl::IsUnknown(status);
}

// Lists the file names in order. Files that are still being written are excluded.
Status ListNames(const std::string& dir, std::vector<std::string>* names) {
  DIR* directory = opendir(dir.c_str());
  if (directory == nullptr) return ErrnoStatus(errno, dir);
  int error_number = 0;
  while (true) {
    errno = 0;
    const dirent* entry = readdir(directory);
    if (entry == nullptr) {
      error_number = errno;
      break;
    }
    const std::string_view name = entry->d_name;
    if (name[0] != '.' && !EndsWith(name, ".tmp")) names->emplace_back(name);
  }
  closedir(directory);
  std::sort(names->begin(), names->end());
  return error_number == 0 ? OkStatus() : ErrnoStatus(error_number, dir);
}

}  // namespace

bool JobFileDirectory::Changed() const {
  struct stat now {};
  if (stat(dir_.c_str(), &now) != 0) return false;
  return now.st_mtim.tv_sec != polled_.tv_sec || now.st_mtim.tv_nsec != polled_.tv_nsec;
}

std::vector<JobRegistry::DroppedJob> JobFileDirectory::Poll() {
  // The time is taken before reading, so that a file added during the read counts as a change.
  if (struct stat now{}; stat(dir_.c_str(), &now) == 0) polled_ = now.st_mtim;
  std::vector<std::string> names;
  const Status trusted = CheckOwnDirectory(dir_);
  std::vector<std::string> complaints;
  const Status listed = trusted.ok() ? ListNames(dir_, &names) : trusted;
  if (!listed.ok()) {
    // If the directory does not exist, there are no files.
    if (listed.code() != absl::StatusCode::kNotFound)
      complaints.push_back(Cat("drop folder: ", ToStd(listed.message())));
    Report(std::move(complaints));
    if (MayPass(listed)) return KnownJobs();
    known_.clear();
    return {};
  }
  std::vector<JobRegistry::DroppedJob> jobs;
  std::map<std::string, std::pair<std::string, JobRegistry::DroppedJob>, std::less<>> known;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string path = Cat(dir_, "/", names[i]);
    Status status;
    if (i >= kMaxFiles) {
      status = ResourceExhausted(Cat("too many files (limit ", kMaxFiles, ")"));
    } else {
      const auto text = ReadTrustedFile(path, kMaxBytes);
      if (!text.ok()) {
        if (text.status().code() == absl::StatusCode::kNotFound) continue;  // just removed
        status = text.status();
        if (const auto before = known_.find(path); MayPass(status) && before != known_.end()) {
          jobs.push_back(before->second.second);
          known[path] = before->second;
        }
      } else if (auto parsed = ParseOnce(path, *text); !parsed.ok()) {
        status = parsed.status();
      } else if (std::any_of(jobs.begin(), jobs.end(),
                             [&](const auto& j) { return j.job.id == parsed->job.id; })) {
        status = InvalidArgument(
            Cat("job ", Quote(parsed->job.id), " is already declared by another file"));
      } else {
        jobs.push_back(*parsed);
        known[path] = {*text, *std::move(parsed)};
      }
    }
    if (!status.ok())
      complaints.push_back(Cat("drop folder: ", path, ": ", ToStd(status.message())));
  }
  known_ = std::move(known);
  Report(std::move(complaints));
  return jobs;
}

std::vector<JobRegistry::DroppedJob> JobFileDirectory::KnownJobs() const {
  std::vector<JobRegistry::DroppedJob> jobs;
  for (const auto& [path, file] : known_) jobs.push_back(file.second);
  return jobs;
}

// The previous result is reused if the text is unchanged, because looking up a user can take a long
// time.
StatusOr<JobRegistry::DroppedJob> JobFileDirectory::ParseOnce(const std::string& path,
                                                              const std::string& text) const {
  const auto known = known_.find(path);
  if (known != known_.end() && known->second.first == text) return known->second.second;
  return Parse(text);
}

void JobFileDirectory::Report(std::vector<std::string> complaints) {
  for (const std::string& complaint : complaints) {
    if (std::find(complaints_.begin(), complaints_.end(), complaint) != complaints_.end()) continue;
    PITWALL_LOG(kWarning, "collector", complaint);
    counters_->drop_files_bad.fetch_add(1, std::memory_order_relaxed);
  }
  complaints_ = std::move(complaints);
}

}  // namespace pitwall::collector
