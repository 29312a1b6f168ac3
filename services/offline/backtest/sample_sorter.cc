#include "services/offline/backtest/sample_sorter.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <tuple>

#include "services/base/text/strings.h"

namespace pitwall::offline {
namespace {

bool Before(const TimedSample& a, const TimedSample& b) {
  return std::tie(a.time_ns, a.series, a.line) < std::tie(b.time_ns, b.series, b.line);
}

}  // namespace

SampleSorter::SampleSorter(size_t memory_samples)
    : memory_samples_(std::max<size_t>(memory_samples, 1)) {}

SampleSorter::~SampleSorter() {
  if (file_ >= 0) ::close(file_);
}

Status SampleSorter::Add(const TimedSample& sample) {
  if (memory_.size() == memory_samples_) RETURN_IF_ERROR(Spill());
  memory_.push_back(sample);
  return OkStatus();
}

Status SampleSorter::Spill() {
  if (file_ < 0) {
    const char* folder = std::getenv("TMPDIR");
    std::string path =
        Cat(folder != nullptr && *folder != '\0' ? folder : "/tmp", "/pitwall-samples.XXXXXX");
    file_ = ::mkstemp(path.data());
    if (file_ < 0) return ErrnoStatus(errno, path);
    ::unlink(path.c_str());
  }
  std::sort(memory_.begin(), memory_.end(), Before);
  const char* bytes = reinterpret_cast<const char*>(memory_.data());
  size_t left = memory_.size() * sizeof(TimedSample);
  while (left > 0) {
    const ssize_t n = ::write(file_, bytes, left);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return ErrnoStatus(n < 0 ? errno : ENOSPC, "temporary file for samples");
    bytes += n;
    left -= static_cast<size_t>(n);
  }
  Run run;
  run.next = written_;
  written_ += memory_.size();
  run.end = written_;
  runs_.push_back(std::move(run));
  memory_.clear();
  return OkStatus();
}

Status SampleSorter::Finish() {
  // The samples are either all in memory or all in runs on disk.
  if (runs_.empty()) {
    std::sort(memory_.begin(), memory_.end(), Before);
    return OkStatus();
  }
  if (!memory_.empty()) RETURN_IF_ERROR(Spill());
  memory_.shrink_to_fit();
  for (size_t i = 0; i < runs_.size(); ++i) {
    RETURN_IF_ERROR(Refill(&runs_[i]));
    heap_.push_back(i);
  }
  const auto later = [this](size_t a, size_t b) {
    return Before(runs_[b].buffer[runs_[b].at], runs_[a].buffer[runs_[a].at]);
  };
  std::make_heap(heap_.begin(), heap_.end(), later);
  return OkStatus();
}

Status SampleSorter::Refill(Run* run) {
  run->at = 0;
  run->buffer.resize(std::min<uint64_t>(kRunBuffer, run->end - run->next));
  char* bytes = reinterpret_cast<char*>(run->buffer.data());
  size_t left = run->buffer.size() * sizeof(TimedSample);
  auto offset = static_cast<off_t>(run->next * sizeof(TimedSample));
  while (left > 0) {
    const ssize_t n = ::pread(file_, bytes, left, offset);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return ErrnoStatus(n < 0 ? errno : EIO, "temporary file for samples");
    bytes += n;
    left -= static_cast<size_t>(n);
    offset += n;
  }
  run->next += run->buffer.size();
  return OkStatus();
}

StatusOr<bool> SampleSorter::Next(TimedSample* sample) {
  if (runs_.empty()) {
    if (next_in_memory_ == memory_.size()) return false;
    *sample = memory_[next_in_memory_++];
    return true;
  }
  if (heap_.empty()) return false;
  const auto later = [this](size_t a, size_t b) {
    return Before(runs_[b].buffer[runs_[b].at], runs_[a].buffer[runs_[a].at]);
  };
  std::pop_heap(heap_.begin(), heap_.end(), later);
  Run& run = runs_[heap_.back()];
  *sample = run.buffer[run.at++];
  if (run.at == run.buffer.size()) {
    if (run.next == run.end) {
      heap_.pop_back();
      return true;
    }
    RETURN_IF_ERROR(Refill(&run));
  }
  std::push_heap(heap_.begin(), heap_.end(), later);
  return true;
}

}  // namespace pitwall::offline
