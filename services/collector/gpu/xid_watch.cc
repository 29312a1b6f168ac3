#include "services/collector/gpu/xid_watch.h"

#include <algorithm>

#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::collector {
namespace {

constexpr unsigned kWaitMs = 200;  // maximum delay of Stop
constexpr int64_t kRetryNs = kNanosPerSecond;
constexpr int64_t kRegisterAgainNs = 60 * kNanosPerSecond;
// If no wait in the driver has returned for this long, the driver is considered unresponsive.
constexpr int64_t kOldestAnswerNs = 5 * kNanosPerSecond;

}  // namespace

XidWatch::XidWatch(Clock& clock, Counters* counters)
    : clock_(clock), counters_(counters), worker_(&clock, "xid-watch") {}

void XidWatch::Start(const Nvml* nvml, uint32_t count) {
  if (worker_.started()) return;
  nvml_ = nvml;
  count_ = count;
  {
    MutexLock lock(&mutex_);
    gpus_.resize(count);
  }
  worker_.Start([this] { Loop(); });
}

void XidWatch::Loop() {
  while (!worker_.stopping()) {
    bool responded = false;
    const Over over = Watch(&responded);
    {
      MutexLock lock(&mutex_);
      for (Gpu& gpu : gpus_) gpu.watched = false;
    }
    if (over == Over::kNeverPossible) return;
    // After a failure, a new event set is created immediately, because another XID error often
    // follows soon.
    if (over == Over::kNoneRegistered) {
      worker_.Wait(kRegisterAgainNs);
    } else if (!responded) {
      worker_.Wait(kRetryNs);
    }
  }
}

XidWatch::Over XidWatch::Watch(bool* responded) {
  const auto set = nvml_->NewEventSet();
  if (!set.ok()) {
    if (!std::exchange(complained_, true)) {
      PITWALL_LOG(kWarning, "collector",
                  "cannot watch for XID errors: ", ToStd(set.status().message()));
    }
    return absl::IsUnimplemented(set.status()) ? Over::kNeverPossible : Over::kNoneRegistered;
  }
  devices_.assign(count_, {});
  Over over = Over::kStopped;
  int64_t next_register_ns = clock_.MonotonicNs();
  while (!worker_.stopping()) {
    const int64_t now_ns = clock_.MonotonicNs();
    if (now_ns >= next_register_ns) {
      next_register_ns = now_ns + kRegisterAgainNs;
      if (!Register(*set)) {
        over = Over::kNoneRegistered;
        break;
      }
    }
    const auto xid = nvml_->WaitForXid(*set, kWaitMs);
    if (!xid.ok()) {
      counters_->nvml_errors.fetch_add(1, std::memory_order_relaxed);
      over = Over::kFailed;
      break;
    }
    *responded = true;
    if (xid->has_value()) OnXid(**xid);
    SetAlive(clock_.MonotonicNs());
  }
  nvml_->FreeEventSet(*set);
  return over;
}

// Registers the remaining GPUs. Returns false if no GPU is registered.
bool XidWatch::Register(Nvml::EventSet set) {
  bool any = false;
  for (uint32_t i = 0; i < count_; ++i) {
    Registered& registered = devices_[i];
    if (registered.device == nullptr && !registered.never) {
      const auto device = nvml_->Get(i);
      const Status status = device.ok() ? nvml_->RegisterXids(*device, set) : device.status();
      if (status.ok()) {
        registered.device = *device;
      } else {
        registered.never = absl::IsUnimplemented(status);
        if (!registered.never) counters_->nvml_errors.fetch_add(1, std::memory_order_relaxed);
        if (!std::exchange(complained_, true)) {
          PITWALL_LOG(kWarning, "collector", "cannot watch GPU ", i,
                      " for XID errors: ", ToStd(status.message()));
        }
      }
    }
    any |= registered.device != nullptr;
  }
  return any;
}

void XidWatch::SetAlive(int64_t now_ns) {
  MutexLock lock(&mutex_);
  alive_ns_ = now_ns;
  for (size_t i = 0; i < gpus_.size(); ++i) gpus_[i].watched = devices_[i].device != nullptr;
}

bool XidWatch::Count(std::string* code, std::map<std::string, uint64_t>* seen) {
  if (seen->size() >= kMaxCodes && !seen->contains(*code)) *code = "other";
  return ++(*seen)[*code] == 1;
}

void XidWatch::OnXid(const Nvml::Xid& xid) {
  const auto it = std::find_if(devices_.begin(), devices_.end(), [&](const Registered& one) {
    return one.device == xid.device && one.device != nullptr;
  });
  const bool known = it != devices_.end();
  const auto index = static_cast<size_t>(it - devices_.begin());
  std::string code = Cat(xid.code);
  bool first = false;
  {
    MutexLock lock(&mutex_);
    first = Count(&code, known ? &gpus_[index].seen : &unattributed_);
  }
  if (!known) counters_->nvml_errors.fetch_add(1, std::memory_order_relaxed);
  if (!first) return;
  PITWALL_LOG(kWarning, "collector", known ? Cat("GPU ", index) : std::string("unknown GPU"),
              ": first occurrence of XID ", code);
}

std::map<std::string, uint64_t> XidWatch::Unattributed() const {
  MutexLock lock(&mutex_);
  return unattributed_;
}

std::vector<XidWatch::Gpu> XidWatch::Now() const {
  const int64_t oldest_ns = clock_.MonotonicNs() - kOldestAnswerNs;
  MutexLock lock(&mutex_);
  std::vector<Gpu> gpus = gpus_;
  if (alive_ns_ < oldest_ns) {
    for (Gpu& gpu : gpus) gpu.watched = false;
  }
  return gpus;
}

}  // namespace pitwall::collector
