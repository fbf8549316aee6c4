// A stand-in for libnvidia-ml.so.1 with two devices. The file /dev/nvidia-case says how it behaves,
// and can change at any time: a word, and a number. Each call returns the number with the word
// `error`, all calls that read something of a device with `readings`, and one call with its name.
// With the number -1, the calls return all of NVML's error numbers, one after the other.
//
// With -DOLD, it lacks the functions that the driver 384 lacks.

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DEVICES 2
#define NO_SUCH_DEVICE 2

struct utilization {
  unsigned gpu, memory;
};
struct memory {
  unsigned long long total, free, used;
};

// The error numbers of NVML (nvmlReturn_t in nvml.h): from 1 to this one, and 999.
#define LAST_ERROR 29
#define UNKNOWN_ERROR 999

static char word[32];
static int is_garbage(void) { return strcmp(word, "garbage") == 0; }

static int next_error(void) {
  static int last;
  last = last == UNKNOWN_ERROR ? 1 : last == LAST_ERROR ? UNKNOWN_ERROR : last + 1;
  return last;
}

// Does what the case says, and returns the result of a call.
static int answer(const char *function) {
  int number = 0;
  FILE *file = fopen("/dev/nvidia-case", "r");
  if (file == NULL || fscanf(file, "%31s %d", word, &number) < 1) strcpy(word, "normal");
  if (file != NULL) fclose(file);
  if (strcmp(word, "hang") == 0) {
    // As a library that has its own plans for signals.
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    for (;;) pause();
  }
  if (strcmp(word, "crash") == 0) raise(SIGSEGV);
  if (strcmp(word, "exit") == 0) _exit(7);
  static const char before[] = "init count device uuid";
  int is_reading = strstr(before, function) == NULL;
  if (number == -1 && is_reading) number = next_error();
  if (strcmp(word, "readings") == 0 && is_reading) return number;
  if (strcmp(word, function) == 0) return number;
  return strcmp(word, "error") == 0 ? number : 0;
}

static int index_of(void *device) { return (int)(long)device - 1; }

int nvmlInit_v2(void) { return answer("init"); }

int nvmlShutdown(void) { return 0; }

int nvmlDeviceGetCount_v2(unsigned *count) {
  int result = answer("count");
  *count = is_garbage() ? ~0u : DEVICES;
  return result;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
  if (index >= DEVICES && !is_garbage()) return NO_SUCH_DEVICE;
  *device = (void *)(long)(index + 1);
  return answer("device");
}

int nvmlDeviceGetUUID(void *device, char *uuid, unsigned size) {
  if (is_garbage()) memset(uuid, '"', size);
  else snprintf(uuid, size, "GPU-5c1e6d8a-0000-0000-0000-00000000000%d", index_of(device));
  return answer("uuid");
}

int nvmlDeviceGetUtilizationRates(void *device, struct utilization *use) {
  use->gpu = is_garbage() ? 4000000000u : 60 + (unsigned)index_of(device);
  use->memory = 30;
  return answer("utilization");
}

int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory) {
  memory->total = is_garbage() ? 1 : 80ull << 30;
  memory->used = is_garbage() ? ~0ull : (unsigned long long)(index_of(device) + 1) << 30;
  memory->free = memory->total - memory->used;
  return answer("memory");
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts) {
  *milliwatts = is_garbage() ? ~0u : 312500 + (unsigned)index_of(device);
  return answer("power");
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *degrees) {
  *degrees = is_garbage() || sensor != 0 ? ~0u : 61 + (unsigned)index_of(device);
  return answer("temperature");
}

int nvmlDeviceGetClockInfo(void *device, int type, unsigned *megahertz) {
  *megahertz = is_garbage() || type != 1 ? ~0u : 1980 - (unsigned)index_of(device);
  return answer("clock");
}

#ifndef OLD
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules) {
  *millijoules = is_garbage() ? ~0ull : 5000000ull + (unsigned)index_of(device);
  return answer("energy");
}

int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *reasons) {
  // The limit of the power, by software; and heat, by hardware.
  *reasons = is_garbage() ? ~0ull : index_of(device) == 0 ? 0x4 : 0x48;
  return answer("throttle");
}
#endif
