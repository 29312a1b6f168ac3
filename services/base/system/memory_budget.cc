#include "services/base/system/memory_budget.h"

#include <algorithm>
#include <utility>

#include "services/base/text/strings.h"

namespace pitwall {

namespace {

std::string Mebibytes(size_t bytes) { return Cat(bytes >> 20, " MiB"); }

}  // namespace

std::unique_ptr<MemoryBudget::Account> MemoryBudget::Open(std::string name) {
  MutexLock lock(&mutex_);
  entries_.push_back(std::make_unique<Entry>());
  entries_.back()->name = std::move(name);
  return std::make_unique<Account>(this, entries_.back().get());
}

size_t MemoryBudget::total() const {
  MutexLock lock(&mutex_);
  return total_;
}

uint64_t MemoryBudget::pauses() const {
  MutexLock lock(&mutex_);
  return pauses_;
}

std::vector<MemoryBudget::Entry> MemoryBudget::Entries() const {
  MutexLock lock(&mutex_);
  std::vector<Entry> all;
  for (const auto& entry : entries_) all.push_back(*entry);
  return all;
}

const MemoryBudget::Entry* MemoryBudget::Largest() const {
  const Entry* largest = nullptr;
  for (const auto& entry : entries_) {
    if (largest == nullptr || entry->bytes > largest->bytes) largest = entry.get();
  }
  return largest;
}

bool MemoryBudget::MustPause(Entry* entry) {
  MutexLock lock(&mutex_);
  const size_t from = limit_ / 100 * (entry->paused ? kGoOnBelow : kPauseAt);
  const bool pause = total_ >= limit_ || (total_ >= from && Largest() == entry);
  pauses_ += pause && !entry->paused ? 1 : 0;
  entry->paused = pause;
  return pause;
}

MemoryBudget::Account::~Account() {
  MutexLock lock(&budget_->mutex_);
  budget_->total_ -= entry_->bytes;
  std::erase_if(budget_->entries_, [this](const auto& entry) { return entry.get() == entry_; });
}

void MemoryBudget::Account::Set(size_t bytes, LargestPart largest) {
  MutexLock lock(&budget_->mutex_);
  budget_->total_ += bytes;
  budget_->total_ -= entry_->bytes;
  entry_->bytes = bytes;
  entry_->largest = std::move(largest);
}

std::string MemoryBudget::Account::WhyPaused() const {
  MutexLock lock(&budget_->mutex_);
  const LargestPart& largest = entry_->largest;
  return Cat("memory: ", Mebibytes(budget_->total_), " of the budget of ",
             Mebibytes(budget_->limit_), " is in use, so reading is paused until usage drops; ",
             entry_->name, " holds ", Mebibytes(entry_->bytes), ", mostly ", largest.name, " (",
             Mebibytes(largest.bytes), largest.detail.empty() ? "" : ", ", largest.detail,
             "); raise memory.budget or give that job fewer series or rules");
}

}  // namespace pitwall
