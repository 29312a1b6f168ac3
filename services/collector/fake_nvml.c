/* A stand-in for libnvidia-ml.so.1 in tests: three GPUs, of which the last has fallen off the bus. */
#include <stdlib.h>
#include <string.h>

struct utilization {
  unsigned gpu, memory;
};
struct memory {
  unsigned long long total, free, used;
};

int nvmlInit_v2(void) { return getenv("FAKE_NVML_NO_DRIVER") != NULL ? 9 : 0; }
int nvmlShutdown(void) { return 0; }
const char* nvmlErrorString(int code) { return code == 9 ? "Driver Not Loaded" : "GPU is lost"; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 3;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = (void*)(size_t)(index + 1);
  return 0;
}
static int lost(void* device) { return (size_t)device == 3 ? 15 : 0; }
int nvmlDeviceGetUtilizationRates(void* device, struct utilization* out) {
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
  *degrees = 60 + (unsigned)sensor;
  return (size_t)device == 2 ? 3 : lost(device); /* the second has no sensor */
}
