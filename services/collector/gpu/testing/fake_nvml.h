// Controls for the fake NVML library (fake_nvml.c) in tests.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

namespace pitwall::collector {

// Keeps the library loaded. The library's state is reset when its last user unloads it, so at most
// one FakeNvml may exist at a time, and it must be created before any other user of the library.
class FakeNvml {
 public:
  FakeNvml() : library_(dlopen(PITWALL_FAKE_NVML, RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(library_, nullptr);
  }
  ~FakeNvml() { dlclose(library_); }
  FakeNvml(const FakeNvml&) = delete;
  FakeNvml& operator=(const FakeNvml&) = delete;

  void SetCount(unsigned count) { Find<void(unsigned)>("fake_nvml_set_count")(count); }
  // Blocks or releases utilization readings.
  void Hold(bool on) { Find<void(int)>("fake_nvml_hold")(on); }
  void AwaitHeld() { Find<void()>("fake_nvml_await_held")(); }
  void RaiseXid(unsigned gpu, unsigned long long code) { Raise(gpu, 8, code); }
  void Raise(unsigned gpu, unsigned long long type, unsigned long long code) {
    Find<void(unsigned, unsigned long long, unsigned long long)>("fake_nvml_raise")(gpu, type,
                                                                                    code);
  }
  // Waits until all events have been received and the receiver is waiting again.
  void AwaitReceived() { Find<void()>("fake_nvml_await_received")(); }
  // Sets the return code for all subsequent registrations and for one wait.
  void RefuseEvents(int at_register, int at_wait) {
    Find<void(int, int)>("fake_nvml_refuse_events")(at_register, at_wait);
  }
  int EventSets() { return Find<int()>("fake_nvml_event_sets")(); }
  unsigned long Calls(const char* function) {
    return Find<unsigned long(const char*)>("fake_nvml_calls")(function);
  }

 private:
  template <typename Function>
  Function* Find(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(library_, name));
  }

  void* const library_;
};

}  // namespace pitwall::collector
