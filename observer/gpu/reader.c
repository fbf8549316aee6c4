// Reads the GPUs of NVIDIA in the target container with NVML, once a second. preload.c starts this
// program, in a process of its own.
//
// It opens libnvidia-ml.so.1, which the container runtime mounts, and calls it only while a process
// has a GPU open, so that it does not wake a GPU that nobody uses. Functions that an older driver
// lacks, and readings that a GPU does not have, are missing in the file.
//
// build.sh links it without versions of symbols, so that it runs with each glibc.

#define _GNU_SOURCE

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "readings.h"

// nvml.h of the CUDA toolkit has these types, numbers and functions.
typedef void *handle;
struct utilization {
  unsigned gpu, memory;
};
struct memory {
  unsigned long long total, free, used;
};
enum { NVML_TEMPERATURE_GPU = 0, NVML_CLOCK_SM = 1 };

static struct {
  int (*begin)(void), (*end)(void);
  int (*count)(unsigned *count);
  int (*device)(unsigned index, handle *device);
  int (*uuid)(handle device, char *uuid, unsigned size);
  int (*utilization)(handle device, struct utilization *utilization);
  int (*memory)(handle device, struct memory *memory);
  int (*power)(handle device, unsigned *milliwatts);
  int (*energy)(handle device, unsigned long long *millijoules);
  int (*temperature)(handle device, int sensor, unsigned *degrees);
  int (*clock)(handle device, int type, unsigned *megahertz);
  int (*throttle)(handle device, unsigned long long *reasons);
} nvml;

static struct readings readings;
// A link in /proc to an open GPU, which is looked at before all others; empty if none is known.
static char known_link[64];

// --- The file ---

// Writes a part of the readings, which has the same place in the file.
static void write_part(size_t at, size_t size) {
  // If the disk is full, the readings stay old.
  if (pwrite(READINGS_NUMBER, (const char *)&readings + at, size, (off_t)at) < 0) return;
}

#define WRITE(member) write_part(offsetof(struct readings, member), sizeof readings.member)

static void write_state(enum state state, int detail) {
  readings.state = state;
  readings.detail = (uint32_t)detail;
  write_part(offsetof(struct readings, state), sizeof readings.state + sizeof readings.detail);
}

// The keeper ends this program if the same call lasts too long.
static void begin_call(void) {
  static uint64_t calls;
  readings.call = ++calls;
  WRITE(call);
}

static void end_call(void) {
  readings.call = 0;
  WRITE(call);
}

static void write_sequence(void) {
  readings.sequence++;
  WRITE(sequence);
}

static void write_devices(void) {
  struct timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  readings.looked = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
  write_sequence();
  WRITE(devices);
  WRITE(counted);
  WRITE(error);
  WRITE(looked);
  write_part(offsetof(struct readings, device), readings.devices * sizeof(struct device));
  write_sequence();
}

// --- The processes that use a GPU ---

static int is_digit(char letter) { return letter >= '0' && letter <= '9'; }

// Whether a link leads to a GPU, such as /dev/nvidia0.
static int is_gpu(const char *link) {
  static const char gpu[] = "/dev/nvidia";
  char path[64];
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < (ssize_t)sizeof gpu) return 0;
  path[length] = '\0';
  return strncmp(path, gpu, sizeof gpu - 1) == 0 && is_digit(path[sizeof gpu - 1]);
}

// Whether a process has a GPU open.
static int has_gpu(const char *process) {
  char folder[32];
  snprintf(folder, sizeof folder, "/proc/%.10s/fd", process);
  DIR *files = opendir(folder);
  if (files == NULL) return 0;
  int has = 0;
  for (struct dirent *file; !has && (file = readdir(files)) != NULL;) {
    snprintf(known_link, sizeof known_link, "%s/%.10s", folder, file->d_name);
    has = is_digit(file->d_name[0]) && is_gpu(known_link);
  }
  closedir(files);
  return has;
}

static int is_own(const char *process) {
  char own[16];
  snprintf(own, sizeof own, "%d", getpid());
  return strcmp(own, process) == 0;
}

// Whether a process other than this one has a GPU open.
static int is_used(void) {
  if (known_link[0] != '\0' && is_gpu(known_link)) return 1;
  DIR *processes = opendir("/proc");
  if (processes == NULL) return 0;
  int is_found = 0;
  for (struct dirent *process; !is_found && (process = readdir(processes)) != NULL;) {
    const char *name = process->d_name;
    is_found = is_digit(name[0]) && !is_own(name) && has_gpu(name);
  }
  closedir(processes);
  if (!is_found) known_link[0] = '\0';
  return is_found;
}

static uint64_t own_cpu(void) {
  struct timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static void pause_for(uint64_t nanoseconds) {
  struct timespec time = {(time_t)(nanoseconds / 1000000000u), (long)(nanoseconds % 1000000000u)};
  nanosleep(&time, NULL);
}

// Waits until a process has a GPU open. Looking at all open files may take much processor time, so
// it takes at most a hundredth of it.
static void wait_for_use(void) {
  write_state(WAITING, 0);
  for (;;) {
    uint64_t before = own_cpu();
    if (is_used()) return;
    uint64_t pause = 99 * (own_cpu() - before);
    pause_for(pause > 1000000000u ? pause : 1000000000u);
  }
}

// --- The devices ---

// Whether a function is there and returns NVML_SUCCESS.
#define HAS(function, ...) (nvml.function != NULL && nvml.function(__VA_ARGS__) == 0)

static void read_use(handle handle, struct device *device) {
  struct utilization utilization = {0};
  struct memory memory = {0};
  if (HAS(utilization, handle, &utilization)) {
    device->has |= BUSY;
    device->busy = utilization.gpu;
  }
  if (HAS(memory, handle, &memory)) {
    device->has |= MEMORY;
    device->memory_used = memory.used;
    device->memory_total = memory.total;
  }
}

static void read_state(handle handle, struct device *device) {
  unsigned long long energy = 0, throttle = 0;
  if (HAS(power, handle, &device->power)) device->has |= POWER;
  if (HAS(temperature, handle, NVML_TEMPERATURE_GPU, &device->temperature)) {
    device->has |= TEMPERATURE;
  }
  if (HAS(clock, handle, NVML_CLOCK_SM, &device->clock)) device->has |= CLOCK;
  if (HAS(energy, handle, &energy)) device->has |= ENERGY;
  if (HAS(throttle, handle, &throttle)) device->has |= THROTTLE;
  device->energy = energy;
  device->throttle = throttle;
}

// Adds the readings of a device, which has a handle and a UUID. Returns NVML's error number.
static int add_device(unsigned index) {
  struct device *device = &readings.device[readings.devices];
  handle handle = NULL;
  memset(device, 0, sizeof *device);
  int error = nvml.device(index, &handle);
  if (error == 0) error = nvml.uuid(handle, device->uuid, sizeof device->uuid);
  if (error != 0) return error;
  read_use(handle, device);
  read_state(handle, device);
  readings.devices++;
  return 0;
}

static void read_devices(void) {
  unsigned count = 0;
  readings.devices = 0;
  begin_call();
  int error = nvml.count(&count);
  readings.error = (uint32_t)error;
  readings.counted = error == 0 ? count : 0;
  for (unsigned index = 0; index < readings.counted && index < MAX_DEVICES; index++) {
    begin_call();
    error = add_device(index);
    if (error != 0) readings.error = (uint32_t)error;
  }
  end_call();
  write_devices();
}

// --- NVML ---

static void *find(void *library, const char *name, const char *older) {
  void *found = dlsym(library, name);
  return found == NULL && older != NULL ? dlsym(library, older) : found;
}

// Finds the functions. Returns 0 if one is missing without which there are no readings.
static int find_functions(void *library) {
  nvml.begin = find(library, "nvmlInit_v2", "nvmlInit");
  nvml.end = find(library, "nvmlShutdown", NULL);
  nvml.count = find(library, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount");
  nvml.device = find(library, "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex");
  nvml.uuid = find(library, "nvmlDeviceGetUUID", NULL);
  nvml.utilization = find(library, "nvmlDeviceGetUtilizationRates", NULL);
  nvml.memory = find(library, "nvmlDeviceGetMemoryInfo", NULL);
  nvml.power = find(library, "nvmlDeviceGetPowerUsage", NULL);
  nvml.energy = find(library, "nvmlDeviceGetTotalEnergyConsumption", NULL);
  nvml.temperature = find(library, "nvmlDeviceGetTemperature", NULL);
  nvml.clock = find(library, "nvmlDeviceGetClockInfo", NULL);
  // The driver 535 has given the second one its new name.
  nvml.throttle = find(library, "nvmlDeviceGetCurrentClocksEventReasons",
                       "nvmlDeviceGetCurrentClocksThrottleReasons");
  return nvml.begin != NULL && nvml.count != NULL && nvml.device != NULL && nvml.uuid != NULL;
}

// Reads the GPUs as long as a process has one open. Returns whether NVML could begin.
static int read_while_used(void) {
  begin_call();
  int error = nvml.begin();
  end_call();
  if (error != 0) {
    write_state(NO_NVML, error);
    return 0;
  }
  write_state(READING, 0);
  do {
    read_devices();
    pause_for(1000000000u);
  } while (is_used());
  begin_call();
  if (nvml.end != NULL) nvml.end();
  end_call();
  return 1;
}

int main(void) {
  wait_for_use();
  begin_call();
  // With RTLD_NOW, a function that the library itself lacks would prevent all readings.
  void *library = dlopen("libnvidia-ml.so.1", RTLD_LAZY);
  end_call();
  if (library == NULL) {
    write_state(NO_LIBRARY, 0);
    return 0;
  }
  if (!find_functions(library)) {
    write_state(OLD_LIBRARY, 0);
    return 0;
  }
  while (read_while_used()) wait_for_use();
  return 0;
}
