// Format tensorboard: scalars of TensorBoard event files (events.out.tfevents.*), which PyTorch's
// SummaryWriter, Lightning, Hugging Face, Keras, and JAX write.
//
//   tag "loss", "train/loss", "train_loss_step"   train_loss{mode="train"}
//   tag "eval/loss", "val_loss"                   train_loss, mode "eval"
//   likewise accuracy or acc, learning_rate or lr, and grad_norm
//   any other tag                                 the tag; other characters become "_"
//
// A tag, or the folder of the file as a whole, gives the mode: "eval" for the words eval, val,
// valid, validation, and test, otherwise "train". If two tags of one input have the same series,
// the first one keeps it, and the other one has its own name, with a number if that is not unique.
// Text, images, histograms, and graphs are ignored.
//
// A file is a sequence of records (TFRecord): the length as 8 bytes, a CRC-32C of them, the record,
// and its CRC-32C. A record is an Event of proto/pitwall/foreign/tensorboard/v1.
#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "pitwall/foreign/tensorboard/v1/event.pb.h"
#include "services/base/system/files.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/codec/imports/formats/formats.h"
#include "services/codec/imports/series_index.h"
#include "services/codec/lenient/skipped_records.h"
#include "services/model/position.h"

namespace pitwall::imports {
namespace {

using foreign::tensorboard::v1::Event;
using foreign::tensorboard::v1::Summary;
using foreign::tensorboard::v1::TensorProto;

constexpr size_t kHeadBytes = 12;  // length and its checksum
constexpr size_t kTailBytes = 4;   // checksum of the record
// Longer records have images or graphs, and are passed over.
constexpr uint64_t kRecordBytes = uint64_t{1} << 20;
constexpr size_t kMaxTags = 10'000;
constexpr std::string_view kFileName = ".tfevents.";

uint64_t LittleEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

// Returns the checksum in the masked form of the file.
uint32_t MaskedCrc(std::string_view bytes) {
  const uint32_t crc = Crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

// Returns the value of an array that has one element of type float or double.
std::optional<double> ScalarOf(const TensorProto& tensor) {
  constexpr int32_t kFloat = 1, kDouble = 2;  // of the enum DataType
  const std::string_view content = tensor.tensor_content();
  if (tensor.dtype() == kFloat) {
    if (tensor.float_val_size() == 1) return tensor.float_val(0);
    if (tensor.float_val_size() == 0 && content.size() == sizeof(float))
      return std::bit_cast<float>(static_cast<uint32_t>(LittleEndian(content)));
  } else if (tensor.dtype() == kDouble) {
    if (tensor.double_val_size() == 1) return tensor.double_val(0);
    if (tensor.double_val_size() == 0 && content.size() == sizeof(double))
      return std::bit_cast<double>(LittleEndian(content));
  }
  return std::nullopt;
}

// Returns nullopt if the value is not a scalar.
std::optional<double> ScalarOf(const Summary::Value& value) {
  switch (value.value_case()) {
    case Summary::Value::kSimpleValue:
      return value.simple_value();
    case Summary::Value::kTensor:
      return ScalarOf(value.tensor());
    case Summary::Value::VALUE_NOT_SET:
      return std::nullopt;
  }
  return std::nullopt;
}

// Returns the words of a tag in lower case: "Eval/grad-norm" has eval, grad, and norm.
std::vector<std::string> WordsOf(std::string_view tag) {
  std::vector<std::string> words(1);
  for (const char c : tag) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if ((lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9')) {
      words.back().push_back(lower);
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

bool IsOneOf(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool IsEvaluation(std::string_view word) {
  return IsOneOf(word, {"eval", "val", "valid", "validation", "test"});
}

struct SeriesName {
  std::string name;
  std::string_view mode;
};

// Returns the name of the tag's series, with characters that names permit.
std::string OwnName(std::string_view tag) {
  std::string name;
  for (const char c : tag) {
    const bool digit = c >= '0' && c <= '9';
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
    if (digit && name.empty()) name.push_back('_');
    name.push_back(digit || letter ? c : '_');
  }
  return name;
}

// Returns Pitwall's series for a tag of a well-known quantity.
std::optional<std::string> KnownName(std::vector<std::string> words) {
  std::erase_if(words,
                [](const std::string& word) { return word == "train" || IsEvaluation(word); });
  if (words.size() > 1 && words.back() == "step") words.pop_back();
  const std::string quantity = Join(words, "_");
  if (quantity == "loss") return "train_loss";
  if (IsOneOf(quantity, {"accuracy", "acc"})) return "train_accuracy";
  if (IsOneOf(quantity, {"learning_rate", "lr"})) return "train_learning_rate";
  if (quantity == "grad_norm") return "train_grad_norm";
  return std::nullopt;
}

class TensorBoardImporter final : public Importer {
 public:
  explicit TensorBoardImporter(SampleSink* sink) : series_(sink) {}

  Status BeginFile(const std::string& path, std::optional<std::string_view>) override {
    path_ = path;
    const size_t slash = path.rfind('/');
    const std::string folder =
        slash == std::string::npos ? "" : BaseName(std::string(path.substr(0, slash)));
    const std::vector<std::string> words = WordsOf(folder);
    // A run may be called my_test, so the folder must have no other word.
    evaluation_ = words.size() == 1 && IsEvaluation(words.front());
    rest_.clear();
    pass_over_ = 0;
    record_ = 0;
    damaged_ = false;
    skipped_ = lenient::SkippedRecords("record");
    return OkStatus();
  }

  Status Feed(std::string_view bytes) override {
    while (!bytes.empty() && !damaged_) {
      const size_t passed = static_cast<size_t>(std::min<uint64_t>(pass_over_, bytes.size()));
      pass_over_ -= passed;
      bytes.remove_prefix(passed);
      const size_t taken = std::min(bytes.size(), kRecordBytes + kHeadBytes + kTailBytes);
      rest_.append(bytes.substr(0, taken));
      bytes.remove_prefix(taken);
      RETURN_IF_ERROR(TakeRecords());
    }
    return OkStatus();
  }

  Status EndFile(bool) override {
    // The writer was killed, or is still running.
    if (!rest_.empty() || pass_over_ > 0) Skip("the file ends inside a record");
    if (skipped_.used() == 0 && skipped_.skipped() > 0)
      return InvalidArgument(skipped_.first().front());
    all_skipped_.Add(skipped_);
    return OkStatus();
  }

  Status Finish() override { return all_skipped_.Finish("event files"); }

 private:
  void Skip(std::string_view cause) {
    skipped_.Skip(Cat(path_, ": record ", record_ + 1, ": ", cause));
  }

  // Takes the complete records at the start of rest_.
  Status TakeRecords() {
    size_t at = 0;
    const auto left = [&] { return std::string_view(rest_).substr(at); };
    while (left().size() >= kHeadBytes) {
      const uint64_t length = LittleEndian(left().substr(0, 8));
      if (LittleEndian(left().substr(8, 4)) != MaskedCrc(left().substr(0, 8))) {
        // Without its length, the next record cannot be found.
        Skip("the checksum of its length is wrong; this is not an event file, or it is damaged");
        damaged_ = true;
        rest_.clear();
        return OkStatus();
      }
      if (length > kRecordBytes) {
        const uint64_t whole = kHeadBytes + length + kTailBytes;
        const auto here = static_cast<size_t>(std::min<uint64_t>(whole, left().size()));
        pass_over_ = whole - here;
        at += here;
        ++record_;
        continue;
      }
      const size_t size = static_cast<size_t>(length);
      if (left().size() < kHeadBytes + size + kTailBytes) break;
      const std::string_view record = left().substr(kHeadBytes, size);
      if (LittleEndian(left().substr(kHeadBytes + size, kTailBytes)) == MaskedCrc(record)) {
        RETURN_IF_ERROR(TakeEvent(record));
      } else {
        Skip("its checksum is wrong");
      }
      at += kHeadBytes + size + kTailBytes;
      ++record_;
    }
    rest_.erase(0, at);
    return OkStatus();
  }

  Status TakeEvent(std::string_view bytes) {
    Event event;
    const bool parsed = event.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
    const double wall_seconds = event.wall_time();
    const double nanos = std::round(wall_seconds * 1e9);
    if (!parsed) {
      Skip("it is not an event");
    } else if (!(nanos > 0 && nanos < static_cast<double>(kMaxPosition))) {
      Skip(Cat("wall_time must be a Unix time in seconds (got ", FormatDouble(wall_seconds), ")"));
    } else if (event.step() < 0) {
      Skip(Cat("step must not be negative (got ", event.step(), ")"));
    } else {
      skipped_.Use();
      return TakeSummary(event.summary(), static_cast<int64_t>(nanos), event.step());
    }
    return OkStatus();
  }

  Status TakeSummary(const Summary& summary, int64_t time_ns, int64_t step) {
    for (const Summary::Value& value : summary.value()) {
      const std::optional<double> scalar = ScalarOf(value);
      if (!scalar.has_value() || value.tag().empty()) continue;
      ASSIGN_OR_RETURN(const SeriesName series, NameOf(value.tag()));
      ASSIGN_OR_RETURN(const uint32_t number,
                       series_.Find(Labels({{kMetricName, series.name}}), series.mode));
      RETURN_IF_ERROR(series_.sink()->Sample(number, time_ns, step, *scalar,
                                             static_cast<uint32_t>(record_ + 1)));
    }
    return OkStatus();
  }

  StatusOr<SeriesName> NameOf(std::string_view tag) {
    const std::vector<std::string> words = WordsOf(tag);
    const bool evaluation = evaluation_ || std::any_of(words.begin(), words.end(), IsEvaluation);
    const std::string_view mode = evaluation ? "eval" : "train";
    const std::string key = Cat(mode, " ", tag);
    if (const auto known = names_.find(key); known != names_.end()) return known->second;
    if (names_.size() == kMaxTags)
      return ResourceExhausted(Cat(path_, ": more than ", kMaxTags, " tags in one input"));
    const std::string own = OwnName(tag);
    SeriesName series{KnownName(words).value_or(own), mode};
    if (used_.contains(Cat(mode, " ", series.name))) series.name = own;
    for (int n = 2; !used_.emplace(Cat(mode, " ", series.name)).second; ++n)
      series.name = Cat(own, "_", n);
    names_.emplace(key, series);
    return series;
  }

  SeriesIndex series_;
  StringMap<SeriesName> names_;            // by mode and tag
  absl::flat_hash_set<std::string> used_;  // modes and names
  lenient::SkippedRecords all_skipped_{"record"};

  // State of the current file.
  std::string path_;
  bool evaluation_ = false;  // whether the folder is that of an evaluation
  std::string rest_;         // start of an incomplete record
  uint64_t pass_over_ = 0;   // bytes of a long record that are still to come
  uint64_t record_ = 0;      // number of complete records
  bool damaged_ = false;
  lenient::SkippedRecords skipped_{"record"};
};

StatusOr<NewImporter> Configure(const OptionValue&, std::string_view) {
  return NewImporter([](const std::string&, SampleSink* sink) {
    return std::make_unique<TensorBoardImporter>(sink);
  });
}

}  // namespace

Format TensorBoardFormat() {
  return {.name = "tensorboard",
          .no_samples = "the event files have no scalars; log them with add_scalar",
          .wanted =
              [](const std::string& file_name) {
                return file_name.find(kFileName) != std::string::npos;
              },
          .expected = "events.out.tfevents.…",
          .configure = Configure};
}

}  // namespace pitwall::imports
