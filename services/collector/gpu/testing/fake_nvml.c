/* Fake libnvidia-ml.so.1 for tests. The first GPU supports everything, the second much less, and the third has fallen
   off the bus. Additional GPUs, if a test configures them, are like the first. FAKE_NVML_OLD simulates a driver without
   most functions. A test in another process writes "<gpu> <code>" to the file named by FAKE_NVML_XID, which is removed
   when the XID is raised. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kOk = 0, kInvalid = 2, kNotSupported = 3, kSmall = 7, kNoDriver = 9, kTimeout = 10, kLost = 15 };

struct utilization {
  unsigned gpu, memory;
};
struct memory {
  unsigned long long total, free, used;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned gpus = 3;
static int hold, held; /* utilization calls block while `hold` is set; `held`: number of blocked callers */

/* Number of calls of each function. */
static struct {
  const char* name;
  unsigned long count;
} calls[64];
static void count_call(const char* name) {
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < 64; ++i) {
    if (calls[i].name != NULL && strcmp(calls[i].name, name) != 0) continue;
    calls[i].name = name;
    ++calls[i].count;
    break;
  }
  pthread_mutex_unlock(&mutex);
}
#define CALLED() count_call(__func__)

unsigned long fake_nvml_calls(const char* name) {
  unsigned long count = 0;
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < 64; ++i)
    if (calls[i].name != NULL && strcmp(calls[i].name, name) == 0) count = calls[i].count;
  pthread_mutex_unlock(&mutex);
  return count;
}
void fake_nvml_set_count(unsigned count) {
  pthread_mutex_lock(&mutex);
  gpus = count;
  pthread_mutex_unlock(&mutex);
}
void fake_nvml_hold(int on) {
  pthread_mutex_lock(&mutex);
  hold = on;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}
/* Waits until a caller is blocked. */
void fake_nvml_await_held(void) {
  pthread_mutex_lock(&mutex);
  while (held == 0) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
}

int nvmlInit_v2(void) { return getenv("FAKE_NVML_NO_DRIVER") != NULL ? kNoDriver : kOk; }
int nvmlShutdown(void) { return kOk; }
const char* nvmlErrorString(int code) {
  switch (code) {
    case kNoDriver: return "Driver Not Loaded";
    case kNotSupported: return "Not Supported";
    case kInvalid: return "Invalid Argument";
    default: return "GPU is lost";
  }
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  pthread_mutex_lock(&mutex);
  *count = gpus;
  pthread_mutex_unlock(&mutex);
  return kOk;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = (void*)(size_t)(index + 1);
  return kOk;
}
static int lost(void* device) { return (size_t)device == 3 ? kLost : kOk; }
/* Return code of functions that the second GPU does not support. */
static int rich(void* device) { return (size_t)device == 2 ? kNotSupported : lost(device); }

int nvmlDeviceGetUtilizationRates(void* device, struct utilization* out) {
  CALLED();
  pthread_mutex_lock(&mutex);
  ++held;
  pthread_cond_broadcast(&changed);
  while (hold) pthread_cond_wait(&changed, &mutex);
  --held;
  pthread_mutex_unlock(&mutex);
  out->gpu = (unsigned)(size_t)device * 25;
  out->memory = 1;
  return lost(device);
}
int nvmlDeviceGetMemoryInfo(void* device, struct memory* out) {
  out->total = 1000;
  out->used = 100 * (size_t)device;
  out->free = out->total - out->used;
  return lost(device);
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  *milliwatts = 350500;
  return lost(device);
}
int nvmlDeviceGetTemperature(void* device, int sensor, unsigned* degrees) {
  CALLED();
  *degrees = 60 + (unsigned)sensor;
  return rich(device);
}

#ifdef FAKE_NVML_OLD
/* Older name of the function above. */
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* bits) {
  *bits = 1 << 5;
  return lost(device);
}
#else
int nvmlDeviceGetUUID(void* device, char* text, unsigned size) {
  if (size < 6) return kSmall;
  memcpy(text, "GPU-0", 6);
  text[4] = (char)('0' + (size_t)device);
  return lost(device);
}
int nvmlDeviceGetName(void* device, char* text, unsigned size) {
  if (size < 10) return kSmall;
  memcpy(text, "NVIDIA H9", 10);
  return lost(device);
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, void* infos) {
  if (lost(device) != kOk) return kLost;
  if (infos != NULL || *count != 0) return kInvalid;
  *count = (size_t)device == 1 ? 5 : 0;
  return *count == 0 ? kOk : kSmall;
}
int nvmlDeviceGetClockInfo(void* device, int clock, unsigned* mhz) {
  *mhz = clock == 1 ? 1755 : clock == 2 ? 2619 : 1;
  return lost(device);
}
int nvmlDeviceGetMaxClockInfo(void* device, int clock, unsigned* mhz) {
  *mhz = clock == 1 ? 1980 : 1;
  return lost(device);
}
int nvmlDeviceGetCurrentClocksEventReasons(void* device, unsigned long long* bits) {
  *bits = (size_t)device == 1 ? 1 << 2 | 1 << 7 | 1 << 20 : 1;
  return lost(device);
}
int nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned* milliwatts) {
  *milliwatts = 700000;
  return lost(device);
}
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  CALLED();
  *millijoules = 123456789012ull;
  return rich(device);
}
struct margin {
  unsigned version;
  int celsius;
};
int nvmlDeviceGetMarginTemperature(void* device, struct margin* out) {
  if (out->version != 0x1000008) return 25;
  out->celsius = -2;
  return rich(device);
}
int nvmlDeviceGetTotalEccErrors(void* device, int type, int counter, unsigned long long* count) {
  CALLED();
  *count = counter == 0 ? (unsigned)(10 + type) : 999;
  return rich(device);
}
int nvmlDeviceGetMemoryErrorCounter(void* device, int type, int counter, int location, unsigned long long* count) {
  CALLED();
  *count = counter == 0 ? (unsigned)(100 * location + type) : 999;
  if ((size_t)device == 2) return kInvalid; /* old drivers do not know this location */
  return lost(device);
}
int nvmlDeviceGetRemappedRows(void* device, unsigned* correctable, unsigned* uncorrectable, unsigned* pending,
                              unsigned* failed) {
  *correctable = 3;
  *uncorrectable = 2;
  *pending = 1;
  *failed = 0;
  return rich(device);
}
int nvmlDeviceGetPcieReplayCounter(void* device, unsigned* count) {
  *count = 77;
  return lost(device);
}
int nvmlDeviceGetCurrPcieLinkGeneration(void* device, unsigned* out) {
  *out = 4;
  return lost(device);
}
int nvmlDeviceGetMaxPcieLinkGeneration(void* device, unsigned* out) {
  *out = 5;
  return lost(device);
}
int nvmlDeviceGetCurrPcieLinkWidth(void* device, unsigned* out) {
  *out = 8;
  return lost(device);
}
int nvmlDeviceGetMaxPcieLinkWidth(void* device, unsigned* out) {
  *out = 16;
  return lost(device);
}
int nvmlDeviceGetPcieThroughput(void* device, int counter, unsigned* kilobytes) {
  CALLED();
  *kilobytes = counter == 0 ? 2500 : 1500; /* transmit, receive */
  return lost(device);
}
int nvmlDeviceGetNvLinkState(void* device, unsigned link, unsigned* active) {
  *active = link != 5;
  if (link >= 18) return kInvalid;
  return rich(device);
}

struct field {
  uint32_t id, scope;
  int64_t timestamp, latency;
  int type, code;
  union {
    double d;
    unsigned u;
    unsigned long long ull;
  } value;
};
int nvmlDeviceGetFieldValues(void* device, int count, struct field* fields) {
  static uint64_t asked;
  CALLED();
  if (lost(device) != kOk) return kLost;
  pthread_mutex_lock(&mutex);
  ++asked;
  for (int i = 0; i < count; ++i) {
    struct field* f = &fields[i];
    const int all_links = f->scope == 0xffffffff;
    f->type = 3;
    f->code = kOk;
    f->timestamp = (int64_t)asked * 2500000;
    switch (f->id) {
      case 38: f->value.ull = 1000; break;
      case 45: f->value.ull = 2000; break;
      case 52: f->value.ull = 3000; break;
      case 59: f->value.ull = 4000; break;
      case 82: f->type = 1, f->value.ull = ~0ull, f->value.u = 71; break;
      case 91: f->type = 1, f->value.ull = ~0ull, f->value.u = 18; break;
      case 138: f->value.ull = all_links ? 4 : 1; break;
      case 139: f->value.ull = all_links ? 5 : 1; break;
      case 197: f->value.ull = asked * 5000000000ull; break;
      case 198: f->value.ull = asked * 2500000000ull; break;
      default: f->code = kInvalid;
    }
    if ((size_t)device == 2 && f->id != 82) f->code = f->id < 100 ? kNotSupported : kInvalid;
  }
  pthread_mutex_unlock(&mutex);
  return kOk;
}

struct support {
  unsigned version, supported;
};
struct metric {
  unsigned id;
  int code;
  double value;
  const char* texts[3];
};
struct metrics {
  unsigned version, count;
  int *before, *after;
  struct metric metrics[477];
};
int nvmlGpmQueryDeviceSupport(void* device, struct support* out) {
  if (out->version != 1) return 25;
  out->supported = (size_t)device != 2;
  return lost(device);
}
int nvmlGpmSampleAlloc(int** sample) {
  *sample = calloc(1, sizeof(int));
  return kOk;
}
int nvmlGpmSampleFree(int* sample) {
  free(sample);
  return kOk;
}
int nvmlGpmSampleGet(void* device, int* sample) {
  static int taken;
  pthread_mutex_lock(&mutex);
  *sample = ++taken;
  pthread_mutex_unlock(&mutex);
  return lost(device);
}
int nvmlGpmMetricsGet(struct metrics* get) {
  if (get->version != 1 || *get->before == 0 || *get->before >= *get->after) return kInvalid;
  for (unsigned i = 0; i < get->count; ++i) {
    struct metric* m = &get->metrics[i];
    m->code = kOk;
    m->value = m->id == 2 ? 90 : m->id == 5 ? 45 : m->id == 10 ? 30 : -1; /* percent */
  }
  return kOk;
}

struct event {
  void* device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};
static struct event events[256];
static unsigned long waits; /* number of waits started */
static int first_event, next_event, waiting, sets, register_code, wait_code;

void fake_nvml_raise(unsigned gpu, unsigned long long type, unsigned long long code) {
  pthread_mutex_lock(&mutex);
  events[next_event++ % 256] = (struct event){(void*)(size_t)(gpu + 1), type, code, ~0u, ~0u};
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}
/* Waits until all events were received, a wait has returned, and the next one has started. */
void fake_nvml_await_received(void) {
  pthread_mutex_lock(&mutex);
  const unsigned long enough = waits == 0 ? 2 : waits + 1;
  while (first_event != next_event || waiting == 0 || waits < enough) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
}
void fake_nvml_refuse_events(int at_register, int at_wait) {
  pthread_mutex_lock(&mutex);
  register_code = at_register;
  wait_code = at_wait;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}
int fake_nvml_event_sets(void) {
  pthread_mutex_lock(&mutex);
  const int now = sets;
  pthread_mutex_unlock(&mutex);
  return now;
}

int nvmlEventSetCreate(void** set) {
  pthread_mutex_lock(&mutex);
  ++sets;
  pthread_mutex_unlock(&mutex);
  *set = &sets;
  return kOk;
}
int nvmlEventSetFree(void* set) {
  pthread_mutex_lock(&mutex);
  --*(int*)set;
  pthread_mutex_unlock(&mutex);
  return kOk;
}
int nvmlDeviceRegisterEvents(void* device, unsigned long long types, void* set) {
  CALLED();
  if (types != 8 || set != &sets) return kInvalid;
  pthread_mutex_lock(&mutex);
  const int code = register_code;
  pthread_mutex_unlock(&mutex);
  return code != kOk ? code : lost(device);
}
static void raise_from_file(void) {
  const char* path = getenv("FAKE_NVML_XID");
  FILE* file = path == NULL ? NULL : fopen(path, "r");
  unsigned gpu;
  unsigned long long code;
  if (file == NULL) return;
  if (fscanf(file, "%u %llu", &gpu, &code) == 2) fake_nvml_raise(gpu, 8, code);
  fclose(file);
  unlink(path);
}
int nvmlEventSetWait_v2(void* set, struct event* out, unsigned timeout_ms) {
  struct timespec until;
  int code = kOk;
  (void)set;
  raise_from_file();
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += (long)timeout_ms % 1000 * 1000000;
  until.tv_sec += timeout_ms / 1000 + until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  pthread_mutex_lock(&mutex);
  ++waiting;
  ++waits;
  pthread_cond_broadcast(&changed);
  while (first_event == next_event && wait_code == kOk && code != ETIMEDOUT)
    code = pthread_cond_timedwait(&changed, &mutex, &until);
  --waiting;
  if (wait_code != kOk) {
    code = wait_code;
    wait_code = kOk; /* once */
  } else if (first_event != next_event) {
    *out = events[first_event++ % 256];
    code = kOk;
  } else {
    code = kTimeout;
  }
  pthread_mutex_unlock(&mutex);
  return code;
}
#endif
