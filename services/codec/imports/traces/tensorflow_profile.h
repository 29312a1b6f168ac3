// Importer for TensorFlow and JAX profiles (`plugins/profile/RUN/HOST.xplane.pb`, or
// `HOST.trace.json.gz` if there is no other file), which become samples with steps.
//
//   events on /host:CPU with step_num        steps: mode eval if the name contains eval, test, or
//                                            val; mode predict if it contains predict; else train
//   IteratorGetNext on /host:CPU             phase dataloader
//   streams of /device:GPU:N,                train_computation_seconds,
//   XLA Ops of /device:TPU:N                 train_communication_seconds, and related;
//                                            train_operator_seconds{device="gpu"}
//   XLA operators on /host:CPU               train_operator_seconds{device="cpu"}
//
// Ranks are the hosts, ordered by name. Times in the text form count from the start of the profile,
// which is parsed from the folder's name (2026_01_31_12_00_00) as UTC.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/status.h"
#include "services/base/text/strings.h"
#include "services/codec/imports/series_index.h"
#include "services/codec/imports/traces/device_time.h"
#include "services/codec/imports/traces/rank_trace.h"
#include "services/codec/imports/traces/trace_document.h"
#include "services/codec/imports/traces/xplane.h"

namespace pitwall::imports {

// Returns true if `file_name` is a valid name for such a profile.
bool IsTensorflowProfile(std::string_view file_name);
// If `path` is a profile in text form, returns the path of its binary form, which contains more
// data. Otherwise, returns "".
std::string XSpacePathFor(std::string_view path);

struct ProfileLimits {
  TraceLimits trace;
  size_t xspace_bytes = size_t{1} << 30;  // limit for binary profiles, which are read as a whole
};

// Reads files sequentially, in any order. Emits all samples at Finish. Expects unpacked bytes (not
// gzip). Not thread-safe.
class TensorflowProfileReader {
 public:
  // `name` identifies the whole input in log lines.
  TensorflowProfileReader(std::string name, SeriesIndex* out, const ProfileLimits& limits = {})
      : name_(std::move(name)), out_(out), limits_(limits) {}

  // Starts a file. Returns InvalidArgument unless IsTensorflowProfile accepts its name.
  Status BeginFile(const std::string& path);
  // Reads the next bytes. Invalid events are skipped and counted. Returns InvalidArgument, with
  // file and location, if the file is not a profile or has no valid event. The reader then discards
  // the file, and the next file may begin. Returns ResourceExhausted if a limit is exceeded.
  Status Feed(std::string_view bytes);
  Status EndFile();
  Status Finish();

 private:
  Status TakeJson(std::string_view json);
  Status Take(const ProfileEvent& event);
  Status TakeHost(const ProfileEvent& event);
  void TakeDevice(const ProfileEvent& event);

  const std::string name_;
  SeriesIndex* const out_;
  const ProfileLimits limits_;
  lenient::SkippedRecords skipped_{"event"};  // of the current file
  std::map<std::string, RankTrace> hosts_;    // of earlier files
  size_t events_ = 0;

  // State of the current file.
  std::string path_;
  std::string host_;
  RankTrace trace_;                          // merged into hosts_ after the whole file was read
  std::unique_ptr<TraceDocument> document_;  // for the text form
  std::string xspace_;
  int64_t base_ns_ = 0;
  std::map<std::string, std::string> planes_;                         // by pid
  std::map<std::pair<std::string, std::string>, std::string> lines_;  // by pid and tid
  std::vector<TracedStep> steps_;
  std::vector<DeviceWork> works_;
  std::vector<uint32_t> work_names_;  // indexes in names_
  std::vector<std::string> names_;
  StringMap<uint32_t> name_numbers_;
};

}  // namespace pitwall::imports
