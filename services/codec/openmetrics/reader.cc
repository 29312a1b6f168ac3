#include "services/codec/openmetrics/reader.h"

#include <algorithm>
#include <utility>

#include "services/base/yaml/file_text.h"

namespace pitwall::openmetrics {
namespace {

constexpr std::string_view kEof = "# EOF";

// Columns count characters, not bytes.
size_t ColumnOf(std::string_view line, size_t offset) {
  const std::string_view before = line.substr(0, offset);
  return 1 + static_cast<size_t>(std::count_if(before.begin(), before.end(), [](char c) {
           return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
         }));
}

}  // namespace

Dialect DialectOf(std::string_view end_of_file) {
  if (EndsWith(end_of_file, "\n")) end_of_file.remove_suffix(1);
  if (end_of_file.empty()) return Dialect::kOpenMetrics;  // contains at least # EOF
  if (!EndsWith(end_of_file, kEof)) return Dialect::kPrometheusText;
  end_of_file.remove_suffix(kEof.size());
  return end_of_file.empty() || end_of_file.back() == '\n' ? Dialect::kOpenMetrics
                                                           : Dialect::kPrometheusText;
}

Reader::Reader(std::string name, Dialect dialect, SampleSink* sink, const ReaderLimits& limits,
               lenient::SkippedRecords* skipped)
    : name_(std::move(name)),
      dialect_(dialect),
      sink_(sink),
      limits_(limits),
      skipped_(skipped),
      families_(dialect) {}

Status Reader::Error(std::string_view line, size_t offset, std::string_view what) const {
  return InvalidArgument(
      Cat(name_, ":", line_, ":", ColumnOf(line, offset), ": ", what,
          dialect_ == Dialect::kPrometheusText
              ? " (read as the Prometheus text format because the file does not end with # EOF)"
              : ""));
}

Status Reader::Exhausted(std::string_view what) const {
  return ResourceExhausted(Cat(name_, ":", line_, ":1: ", what));
}

Status Reader::Feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (rest_.size() + piece.size() > limits_.line_bytes) {
      ++line_;
      return Exhausted(Cat("the line is longer than ", limits_.line_bytes, " bytes"));
    }
    if (end == std::string_view::npos) {
      rest_.append(piece);
      return OkStatus();
    }
    bytes.remove_prefix(end + 1);
    if (rest_.empty()) {
      RETURN_IF_ERROR(Take(piece));
    } else {
      rest_.append(piece);
      RETURN_IF_ERROR(Take(rest_));
      rest_.clear();
    }
  }
  return OkStatus();
}

Status Reader::Finish() {
  if (!rest_.empty()) {
    const std::string last = std::move(rest_);
    rest_.clear();
    if (dialect_ == Dialect::kOpenMetrics && last != kEof) {
      ++line_;
      return Error(last, last.size(), "the last line has no line break, so the file is truncated");
    }
    RETURN_IF_ERROR(Take(last));
  }
  if (dialect_ == Dialect::kOpenMetrics && !eof_) {
    ++line_;
    return Error("", 0, "the file does not end with # EOF, so it is truncated");
  }
  return skipped_ == nullptr ? OkStatus() : skipped_->Finish(name_);
}

Status Reader::Take(std::string_view line) {
  if (skipped_ == nullptr || eof_) return Line(line);
  return skipped_->SkipInvalid(Line(line));
}

Status Reader::Line(std::string_view text) {
  ++line_;
  if (line_ > UINT32_MAX) return Exhausted("more lines than can be counted");
  if (eof_) return Error(text, 0, "nothing may follow # EOF");
  LineParser line(text, dialect_);
  Status status;
  if (dialect_ == Dialect::kPrometheusText) {
    const std::string_view trimmed = Trim(text);
    if (trimmed.empty()) return OkStatus();
    line.MoveTo(text.find_first_not_of(" \t"));
  } else if (text.empty()) {
    return Error(text, 0, "OpenMetrics has no empty lines");
  } else if (text == kEof) {
    eof_ = true;
    return OkStatus();
  }
  return StartsWith(line.Rest(), "#") ? Comment(&line) : Sample(&line);
}

Status Reader::Comment(LineParser* line) {
  const std::string_view text = line->line();
  if (const size_t bad = yaml::FindInvalidUtf8(text); bad != std::string_view::npos)
    return Error(text, bad, "not UTF-8");
  const bool open = dialect_ == Dialect::kOpenMetrics;
  const auto failed = [&] { return Error(text, line->error_at(), line->error()); };
  line->Skip("#");
  const size_t key_at = line->at() + 1;
  if (!line->Blank()) return open ? failed() : OkStatus();
  const std::string_view key = line->Word();
  const bool type = key == "TYPE";
  const bool help = key == "HELP";
  const bool unit = open && key == "UNIT";
  if (!type && !help && !unit) {
    if (!open) return OkStatus();
    return Error(text, key_at,
                 Cat("# must be followed by TYPE, UNIT, HELP, or EOF (got ", Quote(key), ")"));
  }
  std::string name;
  if (!line->Blank()) return failed();
  const size_t name_at = line->at();
  if (!line->MetricName(&name)) return failed();
  if (families_.size() >= limits_.series) return Exhausted("too many metric families");
  const uint32_t index = families_.Named(name);
  Family& family = families_.at(index);
  bool& stood = type ? family.typed : help ? family.helped : family.united;
  if (stood) return Error(text, name_at, Cat(name, " has a second ", key, " line"));
  // The Prometheus text format allows HELP in any position.
  if (family.sampled && (open || type))
    return Error(text, name_at, Cat("the ", key, " of ", name, " comes after its samples"));
  stood = true;
  if (!families_.Enter(index))
    return Error(text, name_at,
                 Cat("the lines of ", name, " are interleaved with those of others"));
  // HELP and UNIT may have an empty value.
  if (help || unit) {
    if (line->AtEnd() && !open) return OkStatus();
    if (!line->Blank()) return failed();
    if (help) return OkStatus();
    const std::string_view word = line->Rest();
    if (!word.empty() && !EndsWith(name, Cat("_", word)))
      return Error(text, line->at(), Cat("the unit ", Quote(word), " is not a suffix of ", name));
    return OkStatus();
  }
  if (!line->Blank()) return failed();
  const size_t type_at = line->at();
  const std::string_view word = open ? line->Rest() : line->Word();
  const std::optional<FamilyType> parsed = families_.TypeOf(word);
  if (!parsed.has_value() || !Trim(line->Rest().substr(open ? word.size() : 0)).empty())
    return Error(text, type_at, Cat("unknown type ", Quote(line->line().substr(type_at))));
  family.type = *parsed;
  return OkStatus();
}

StatusOr<Reader::Known> Reader::FindSeries(LineParser* line) {
  const std::string_view text = line->line();
  const size_t first = line->at();
  size_t end = 0;
  if (!line->FindSeriesEnd(&end)) return Error(text, line->error_at(), line->error());
  const std::string_view spelling = text.substr(first, end - first);
  if (spelling == last_spelling_ && !spelling.empty()) {
    line->MoveTo(end);
    return last_;
  }
  const auto found = spellings_.find(spelling);
  Known known;
  if (found != spellings_.end()) {
    known = found->second;
    line->MoveTo(end);
  } else {
    if (const size_t bad = yaml::FindInvalidUtf8(spelling); bad != std::string_view::npos)
      return Error(text, first + bad, "not UTF-8");
    if (spellings_.size() >= limits_.series)
      return Exhausted(Cat("too many series (limit ", limits_.series, ")"));
    std::vector<Label> labels;
    if (!line->Series(&labels)) return Error(text, line->error_at(), line->error());
    std::string wrong;
    const auto family = families_.OfSample(labels.front().value, &known.part, &wrong);
    if (!family.has_value()) return Error(text, first, wrong);
    known.family = *family;
    wrong = families_.CheckLabels(known.family, known.part, labels);
    if (!wrong.empty()) return Error(text, first, wrong);
    families_.NormalizeNumbers(known.family, &labels);
    Labels set = Labels::FromPairs(std::move(labels));
    const auto [it, added] = series_.try_emplace(set, static_cast<uint32_t>(series_.size()));
    known.series = it->second;
    if (added) {
      RETURN_IF_ERROR(
          Annotate(sink_->NewSeries(known.series, std::move(set)), Cat(name_, ":", line_, ":1")));
    }
    spellings_.emplace(spelling, known);
  }
  last_spelling_ = spelling;
  last_ = known;
  return known;
}

Status Reader::Sample(LineParser* line) {
  const std::string_view text = line->line();
  const auto failed = [&] { return Error(text, line->error_at(), line->error()); };
  const size_t first = line->at();
  ASSIGN_OR_RETURN(const Known known, FindSeries(line));
  families_.at(known.family).sampled = true;
  if (!families_.Enter(known.family) && skipped_ == nullptr) {
    return Error(text, first,
                 Cat("the samples of ", families_.at(known.family).name,
                     " are interleaved with those of others"));
  }
  if (!line->Blank()) return failed();
  const size_t value_at = line->at();
  double value = 0;
  if (!line->Value(&value)) return failed();
  if (const std::string wrong = families_.CheckValue(known.family, known.part, value);
      !wrong.empty())
    return Error(text, value_at, wrong);
  const bool open = dialect_ == Dialect::kOpenMetrics;
  if (open ? line->AtEnd() || StartsWith(line->Rest(), " # ") : Trim(line->Rest()).empty())
    return Error(text, line->at(), "this sample has no timestamp");
  int64_t time = 0;
  if (!line->Blank() || !line->Timestamp(&time)) return failed();
  if (open && line->Skip(" # ")) {
    std::vector<Label> labels;
    double exemplar = 0;
    int64_t exemplar_time = 0;
    if (const size_t bad = yaml::FindInvalidUtf8(text); bad != std::string_view::npos)
      return Error(text, bad, "not UTF-8");
    if (!line->LabelSet(&labels) || !line->Blank() || !line->Value(&exemplar)) return failed();
    if (!line->AtEnd() && (!line->Blank() || !line->Timestamp(&exemplar_time))) return failed();
  }
  if (open ? !line->AtEnd() : !Trim(line->Rest()).empty())
    return Error(text, line->at(), "the line should end here");
  const Status taken = sink_->Sample(known.series, time, value, static_cast<uint32_t>(line_));
  if (skipped_ != nullptr && taken.ok()) skipped_->Use();
  return Annotate(taken, Cat(name_, ":", line_, ":1"));
}

}  // namespace pitwall::openmetrics
