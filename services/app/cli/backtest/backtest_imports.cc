// Reads inputs of all formats in services/codec/imports/formats. Each --input is a file, or a
// directory with the files of one job.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include "services/app/cli/backtest/backtest_formats.h"
#include "services/app/cli/backtest/recording_sink.h"
#include "services/base/log.h"
#include "services/base/system/files.h"
#include "services/base/text/strings.h"
#include "services/codec/imports/formats/formats.h"
#include "services/codec/imports/gunzip.h"
#include "services/offline/backtest/recording.h"

namespace pitwall {

namespace {

constexpr size_t kMaxFiles = 1'000'000;
constexpr size_t kPiece = size_t{1} << 20;  // bytes

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

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

// Returns the last bytes of a file, or nullopt if the file cannot be opened or sought.
std::optional<std::string> TailOf(const std::string& path, size_t bytes) {
  const File file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (file == nullptr || std::fseek(file.get(), 0, SEEK_END) != 0) return std::nullopt;
  const long size = std::ftell(file.get());
  std::fseek(file.get(), std::max(0L, size - static_cast<long>(bytes)), SEEK_SET);
  std::string tail(bytes, '\0');
  tail.resize(std::fread(tail.data(), 1, tail.size(), file.get()));
  return tail;
}

// Passes a file to `feed` in pieces. Errors contain the path.
Status ForEachPiece(const std::string& path, const std::function<Status(std::string_view)>& feed) {
  const File file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (file == nullptr) return ErrnoStatus(errno, path);
  std::vector<char> piece(kPiece);
  while (true) {
    const size_t n = std::fread(piece.data(), 1, piece.size(), file.get());
    if (n == 0) break;
    RETURN_IF_ERROR(feed({piece.data(), n}));
  }
  if (std::ferror(file.get())) return ErrnoStatus(errno, path);
  return OkStatus();
}

// Passes a file to the importer and then signals the end of the file.
Status ReadPlain(const std::string& file, imports::Importer* importer) {
  RETURN_IF_ERROR(
      ForEachPiece(file, [&](std::string_view piece) { return importer->Feed(piece); }));
  return importer->EndFile(false);
}

// Like ReadPlain, but also accepts files compressed with gzip.
Status ReadPacked(const std::string& file, imports::Importer* importer) {
  imports::Gunzip gunzip(file, [&](std::string_view piece) { return importer->Feed(piece); });
  RETURN_IF_ERROR(ForEachPiece(file, [&](std::string_view piece) { return gunzip.Feed(piece); }));
  RETURN_IF_ERROR(gunzip.Finish());
  return importer->EndFile(gunzip.cut());
}

Status ReadFiles(const imports::Format& format, const std::string& input,
                 imports::Importer* importer) {
  std::vector<std::string> files = {input};
  if (format.wanted != nullptr) {
    ASSIGN_OR_RETURN(files, FilesOf(input, format.wanted, format.expected));
  }
  if (format.deduplicate != nullptr) format.deduplicate(&files);
  FileSequence sequence(files.size() > 1);
  for (const std::string& file : files) {
    std::optional<std::string> tail;
    if (format.tail_bytes > 0) tail = TailOf(file, format.tail_bytes);
    RETURN_IF_ERROR(importer->BeginFile(file, tail));
    RETURN_IF_ERROR(
        sequence.Take(format.gzip ? ReadPacked(file, importer) : ReadPlain(file, importer)));
  }
  RETURN_IF_ERROR(sequence.Finish());
  return importer->Finish();
}

}  // namespace

StatusOr<ReadInput> FormatInput(const imports::Format& format, const Flags& flags) {
  ASSIGN_OR_RETURN(
      const imports::NewImporter importer,
      format.configure([&](std::string_view name) { return flags.One(name); }, offline::kJobLabel));
  return ReadInput([&format, importer](const std::string& input, offline::Recording* recording) {
    RecordingSink sink(recording);
    return ReadFiles(format, input, importer(input, &sink).get());
  });
}

}  // namespace pitwall
