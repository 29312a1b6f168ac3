// Readers for `--format smdebug`, `chrome-trace`, and `tensorflow`. Each --input is a file, or a
// directory with the files of one job.
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "services/app/cli/backtest/backtest_formats.h"
#include "services/app/cli/backtest/recording_sink.h"
#include "services/base/log.h"
#include "services/base/system/files.h"
#include "services/base/text/strings.h"
#include "services/codec/imports/gunzip.h"
#include "services/codec/imports/system_metrics.h"
#include "services/codec/imports/traces/chrome_trace.h"
#include "services/codec/imports/traces/job_timeline.h"
#include "services/codec/imports/traces/tensorflow_profile.h"

namespace pitwall {

namespace {

constexpr size_t kMaxFiles = 1'000'000;

using Wanted = bool (*)(const std::string& file_name);

// Returns the file itself, or the matching files below a directory, sorted by path. Returns
// InvalidArgument if no file matches.
StatusOr<std::vector<std::string>> FilesOf(const std::string& input, Wanted wanted,
                                           std::string_view expected) {
  namespace fs = std::filesystem;
  std::error_code error;
  const auto failed = [&](std::string_view path) { return ErrnoStatus(error.value(), path); };
  const bool folder = fs::is_directory(input, error);
  if (error) return failed(input);
  if (!folder) return std::vector{input};
  std::vector<std::string> files;
  auto it = fs::recursive_directory_iterator(input, error);
  if (error) return failed(input);
  for (const fs::recursive_directory_iterator end; it != end;) {
    const std::string path = it->path().string();
    const bool file = it->is_regular_file(error);
    if (error) return failed(path);
    if (file && wanted(BaseName(path))) files.push_back(path);
    if (files.size() > kMaxFiles)
      return ResourceExhausted(
          Cat(input, ": at most ", kMaxFiles, " files are supported; split the directory"));
    it.increment(error);
    if (error) return failed(input);
  }
  if (files.empty()) return InvalidArgument(Cat(input, ": contains no file named ", expected));
  std::sort(files.begin(), files.end());
  return files;
}

// Returns true for names like <seconds>.algo-N.json.
bool IsSystemMetrics(const std::string& file_name) {
  const size_t dot = file_name.find('.');
  return dot != std::string::npos && EndsWith(file_name, ".json") &&
         ParseInt(std::string_view(file_name).substr(0, dot)) &&
         file_name.size() > dot + std::string_view(".json").size();
}

bool IsOfDebugger(const std::string& file_name) {
  return IsSystemMetrics(file_name) || imports::IsJobTimeline(file_name);
}

bool IsOfTensorflow(const std::string& file_name) {
  return imports::IsTensorflowProfile(file_name);
}

// Reads the files of one input in sequence. Unusable files are skipped with a warning if another
// file is usable. A file is unusable if it is empty, is not a trace, or was truncated when its
// writer was killed.
class FileSequence {
 public:
  explicit FileSequence(bool several) : several_(several) {}

  // Records the result of reading one file. Returns an error if the remaining files must not be
  // read.
  Status Take(const Status& read) {
    if (read.ok()) ++used_;
    if (!absl::IsInvalidArgument(read) || !several_) return read;
    if (first_.ok()) first_ = read;
    PITWALL_LOG(kWarning, "import", "skipped a file: ", ToStd(read.message()));
    return OkStatus();
  }
  // Returns the first error as InvalidArgument if none of the files was usable.
  Status Finish() const { return used_ == 0 ? first_ : OkStatus(); }

 private:
  const bool several_;
  size_t used_ = 0;
  Status first_;
};

// Passes a file to a reader and then signals the end of the file.
template <typename Reader>
Status ReadPlain(const std::string& file, Reader* reader) {
  RETURN_IF_ERROR(ForEachPiece(file, [&](std::string_view piece) { return reader->Feed(piece); }));
  return reader->EndFile();
}

// Like ReadPlain, but also accepts files compressed with gzip.
template <typename Reader>
Status ReadPacked(const std::string& file, Reader* reader) {
  imports::Gunzip gunzip(file, [&](std::string_view piece) { return reader->Feed(piece); });
  RETURN_IF_ERROR(ForEachPiece(file, [&](std::string_view piece) { return gunzip.Feed(piece); }));
  RETURN_IF_ERROR(gunzip.Finish());
  return reader->EndFile();
}

bool IsTrace(const std::string& file_name) {
  return EndsWith(file_name, ".json") || EndsWith(file_name, ".json.gz");
}

}  // namespace

Status ReadDebuggerOutput(const std::string& path, offline::Recording* recording) {
  ASSIGN_OR_RETURN(const std::vector<std::string> files,
                   FilesOf(path, IsOfDebugger,
                           "<seconds>.algo-N.json or <end>_<pid>-<node>_pythontimeline.json"));
  RecordingSink sink(recording);
  imports::SeriesIndex series(&sink);
  imports::SystemMetricsReader metrics(&series);
  imports::JobTimelineReader timelines(path, &series);
  FileSequence sequence(files.size() > 1);
  for (const std::string& file : files) {
    if (imports::IsJobTimeline(BaseName(file))) {
      RETURN_IF_ERROR(timelines.BeginFile(file));
      RETURN_IF_ERROR(sequence.Take(ReadPlain(file, &timelines)));
    } else {
      metrics.BeginFile(file);
      RETURN_IF_ERROR(sequence.Take(ReadPlain(file, &metrics)));
    }
  }
  RETURN_IF_ERROR(sequence.Finish());
  RETURN_IF_ERROR(metrics.Finish());
  return timelines.Finish();
}

Status ReadChromeTraces(const std::string& path, offline::Recording* recording) {
  ASSIGN_OR_RETURN(const std::vector<std::string> files,
                   FilesOf(path, IsTrace, "….json or ….json.gz"));
  RecordingSink sink(recording);
  imports::SeriesIndex series(&sink);
  imports::ChromeTraceReader traces(path, &series);
  FileSequence sequence(files.size() > 1);
  for (const std::string& file : files) {
    traces.BeginFile(file);
    RETURN_IF_ERROR(sequence.Take(ReadPacked(file, &traces)));
  }
  RETURN_IF_ERROR(sequence.Finish());
  return traces.Finish();
}

Status ReadTensorflowProfiles(const std::string& path, offline::Recording* recording) {
  ASSIGN_OR_RETURN(std::vector<std::string> files,
                   FilesOf(path, IsOfTensorflow, "HOST.xplane.pb or HOST.trace.json.gz"));
  // JAX writes each profile in both formats.
  const std::vector<std::string> all = files;
  std::erase_if(files, [&](const std::string& file) {
    return std::binary_search(all.begin(), all.end(), imports::XSpacePathFor(file));
  });
  RecordingSink sink(recording);
  imports::SeriesIndex series(&sink);
  imports::TensorflowProfileReader profiles(path, &series);
  FileSequence sequence(files.size() > 1);
  for (const std::string& file : files) {
    RETURN_IF_ERROR(profiles.BeginFile(file));
    RETURN_IF_ERROR(sequence.Take(ReadPacked(file, &profiles)));
  }
  RETURN_IF_ERROR(sequence.Finish());
  return profiles.Finish();
}

}  // namespace pitwall
