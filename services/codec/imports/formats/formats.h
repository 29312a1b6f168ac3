// Input formats of `pitwall backtest` other than the log. formats.inc lists them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/codec/imports/sample_sink.h"

namespace pitwall::imports {

// Reader of one input, which has the files of one job. Not thread-safe.
class Importer {
 public:
  virtual ~Importer() = default;
  // Starts a file. `tail` is the last Format::tail_bytes of the file, or nullopt if they cannot be
  // read in advance.
  virtual Status BeginFile(const std::string& path, std::optional<std::string_view> tail) = 0;
  virtual Status Feed(std::string_view bytes) = 0;
  // Ends the current file. `cut` is true if its gzip data is truncated. InvalidArgument means that
  // the file is unusable; the next file may begin.
  virtual Status EndFile(bool cut) = 0;
  // Ends the input after its last file.
  virtual Status Finish() = 0;
};

// Makes the importer of one input. `input` names the input in messages, and `sink` is not owned.
using NewImporter =
    std::function<std::unique_ptr<Importer>(const std::string& input, SampleSink* sink)>;

// Option of the command that only some formats have.
struct FormatOption {
  std::string_view name;   // without the leading dashes
  std::string_view value;  // placeholder in the help, such as FILE
  std::string_view help;
};

// Returns the value of an option, or nullopt.
using OptionValue = std::function<std::optional<std::string>(std::string_view name)>;

struct Format {
  std::string_view name;        // value of --format
  std::string_view remark;      // follows the name in the help
  std::string_view no_samples;  // cause of an input without samples
  std::vector<FormatOption> options;

  // Returns true for the files that an input has if it is a directory. Null if inputs are files
  // only.
  bool (*wanted)(const std::string& file_name) = nullptr;
  std::string_view expected;  // names of such files, for errors
  // Removes files that repeat others. The paths are sorted. May be null.
  void (*deduplicate)(std::vector<std::string>* paths) = nullptr;

  bool gzip = false;      // files may be compressed
  size_t tail_bytes = 0;  // number of bytes that BeginFile needs from the end of the file

  // Applies the options. Returns InvalidArgument if they are invalid. `job_label` is the label of
  // samples that name their job.
  StatusOr<NewImporter> (*configure)(const OptionValue& options, std::string_view job_label);
};

// One function per format.
#define PITWALL_IMPORT_FORMAT(name, function) Format function();
#include "services/codec/imports/formats/formats.inc"

// Returns all formats in the order of the list.
const std::vector<Format>& Formats();
// Returns null if no format has the name.
const Format* FindFormat(std::string_view name);

}  // namespace pitwall::imports
