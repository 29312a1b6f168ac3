#include "services/collector/drop_folder.h"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "services/base/log.h"
#include "services/base/strings.h"
#include "services/base/terminal.h"
#include "services/collector/proc_file.h"
#include "services/collector/text_scan.h"

namespace pitwall::collector {
namespace {
constexpr size_t kMaxFiles = 64;
constexpr size_t kMaxBytes = 64u << 10;
constexpr size_t kMaxLabels = 32;
constexpr size_t kMaxText = 1024;
}  // namespace

StatusOr<Bindings::DroppedJob> DropFolder::Parse(std::string_view text) {
  Bindings::DroppedJob out;
  JobOption& job = out.job;
  TextScan lines(text);
  std::string_view line;
  for (int number = 1; lines.Line(&line); ++number) {
    line = Trim(line);
    if (line.empty() || line[0] == '#') continue;
    auto bad = [&](std::string_view why) {
      return InvalidArgument(Cat("line ", number, ": ", why, ": ", Quote(TerminalLine(line))));
    };
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) return bad("not key=value");
    const std::string_view key = Trim(line.substr(0, equals));
    const std::string value(Trim(line.substr(equals + 1)));
    if (value.size() > kMaxText) return bad("too long");
    if (HasControl(line)) return bad("control character");
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
    } else if (key == "cgroup") {
      if (value.find("..") != std::string::npos) return bad("not a path of a cgroup");
      job.cgroup = value;
    } else if (key == "gpus") {
      for (std::string_view part : Split(value, ',')) {
        const auto gpu = TextScan::ToNumber(Trim(part));
        if (!gpu.has_value() || *gpu > INT_MAX) return bad("not a list of GPU indices");
        job.gpus.push_back(static_cast<int>(*gpu));
      }
    } else if (key == "ended") {
      if (value != "completed" && value != "failed" && value != "stopped") {
        return bad("not completed, failed or stopped");
      }
      out.ended = value;
    } else if (StartsWith(key, "label.") && key.size() > 6) {
      if (job.labels.size() == kMaxLabels) return bad("too many labels");
      job.labels.push_back({std::string(key.substr(6)), value});
    } else {
      return bad("unknown key");
    }
  }
  RETURN_IF_ERROR(CheckJobId(job.id));
  return out;
}

std::vector<Bindings::DroppedJob> DropFolder::Poll() {
  std::vector<std::string> names;
  if (DIR* directory = opendir(dir_.c_str())) {
    while (const dirent* entry = readdir(directory)) {
      const std::string_view name = entry->d_name;
      if (name[0] != '.' && !EndsWith(name, ".tmp")) names.emplace_back(name);
    }
    closedir(directory);
  }
  std::sort(names.begin(), names.end());
  std::vector<Bindings::DroppedJob> jobs;
  std::vector<std::string> complaints;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string path = Cat(dir_, "/", names[i]);
    Status status;
    if (i >= kMaxFiles) {
      status = ResourceExhausted(Cat("more than ", kMaxFiles, " files"));
    } else {
      ProcFile file(path);
      const auto text = file.Read(kMaxBytes + 1);
      if (!text.has_value()) {
        if (file.error() == ENOENT) continue;  // removed just now
        status = ErrnoStatus(file.error(), "read");
      } else if (text->size() > kMaxBytes) {
        status = ResourceExhausted(Cat("more than ", kMaxBytes, " bytes"));
      } else if (auto parsed = Parse(*text); !parsed.ok()) {
        status = parsed.status();
      } else if (std::any_of(jobs.begin(), jobs.end(),
                             [&](const auto& j) { return j.job.id == parsed->job.id; })) {
        status = InvalidArgument(Cat("job ", Quote(parsed->job.id), " has another file already"));
      } else {
        jobs.push_back(*std::move(parsed));
      }
    }
    if (status.ok()) continue;
    std::string complaint = Cat("drop folder: ", path, ": ", ToStd(status.message()));
    if (std::find(complaints_.begin(), complaints_.end(), complaint) == complaints_.end()) {
      PITWALL_LOG(kWarning, "collector", complaint);
      counters_->drop_files_bad.fetch_add(1, std::memory_order_relaxed);
    }
    complaints.push_back(std::move(complaint));
  }
  complaints_ = std::move(complaints);
  return jobs;
}

}  // namespace pitwall::collector
