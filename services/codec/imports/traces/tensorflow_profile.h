// Profiles of TensorFlow and JAX (`plugins/profile/RUN/HOST.xplane.pb`, or `HOST.trace.json.gz`
// where there is no other) -> samples with steps.
//
//   events on /host:CPU with step_num        steps: of mode eval where the name has eval, test or
//                                            val in it, predict, else train
//   IteratorGetNext on /host:CPU             phase dataloader
//   streams of /device:GPU:N,                train_computation_seconds, train_communication_seconds
//   XLA Ops of /device:TPU:N                 and their kin; train_operator_seconds{device="gpu"}
//   operators of XLA on /host:CPU            train_operator_seconds{device="cpu"}
//
// A rank is a host, in the order of their names. The text form has times since the profile began:
// they count from the folder's name (2026_01_31_12_00_00), read as UTC.
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

// Whether a file has the name of such a profile.
bool IsTensorflowProfile(std::string_view file_name);
// Returns the path of the binary form for a profile in text form, which has less data; else "".
std::string XSpacePathFor(std::string_view path);

struct ProfileLimits {
  TraceLimits trace;
  size_t xspace_bytes = size_t{1} << 30;  // which are read as a whole
};

// Reads files sequentially, in any order. Emits all samples at Finish. Expects unpacked bytes (not
// gzip). Not thread-safe.
class TensorflowProfileReader {
 public:
  // `name` of the whole in log lines.
  TensorflowProfileReader(std::string name, SeriesIndex* out, const ProfileLimits& limits = {})
      : name_(std::move(name)), out_(out), limits_(limits) {}

  // InvalidArgument: the name is not that of a profile.
  Status BeginFile(const std::string& path);
  // Invalid events are skipped and counted. InvalidArgument: the file is not a profile or has no
  // valid event, with file and place; the reader then has nothing of it, and the next file may
  // begin. ResourceExhausted: a limit.
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
  lenient::SkippedRecords skipped_{"event"};  // of the file
  std::map<std::string, RankTrace> hosts_;    // of the files before
  size_t events_ = 0;

  // The file.
  std::string path_;
  std::string host_;
  RankTrace trace_;                          // joins hosts_ when the whole file was read
  std::unique_ptr<TraceDocument> document_;  // of text
  std::string xspace_;
  int64_t base_ns_ = 0;
  std::map<std::string, std::string> planes_;                         // by pid
  std::map<std::pair<std::string, std::string>, std::string> lines_;  // by pid and tid
  std::vector<TracedStep> steps_;
  std::vector<DeviceWork> works_;
  std::vector<uint32_t> work_names_;  // of names_
  std::vector<std::string> names_;
  StringMap<uint32_t> name_numbers_;
};

}  // namespace pitwall::imports
