// The file in which the reader of NVIDIA's GPUs leaves its readings for the observer, whose module
// metrics::gpu_nvidia::readings knows the same sizes and offsets. The reader and its keeper have it
// open under a fixed number.

#pragma once

#include <stddef.h>
#include <stdint.h>

#define FOLDER "/var/opt/ridealong/gpu-nvidia"
#define READER "/opt/ridealong/gpu-nvidia/ridealong-gpu"
#define NAME "ridealong-gpu"
#define READINGS_NUMBER 3

#define MAX_DEVICES 64
// glibc's and NVML's longest UUID has 96 bytes with its terminator (NVML_DEVICE_UUID_V2_BUFFER_SIZE).
#define UUID_SIZE 96

// The last byte is the version of the format.
static const char MAGIC[] = {'R', 'L', 'G', 'P', 'U', 0, 0, 1};

// What the reader does, or why it has ended. `detail` says more about some of them.
enum state {
  STARTING,
  // No process has a GPU open.
  WAITING,
  READING,
  // The program of the reader cannot be executed. Detail: the error number.
  NOT_EXECUTABLE,
  // The dynamic linker cannot load libnvidia-ml.so.1.
  NO_LIBRARY,
  // The library lacks functions without which there are no readings.
  OLD_LIBRARY,
  // NVML cannot begin. Detail: NVML's error number.
  NO_NVML,
  // The reader has ended. Detail: its exit code, or the signal that has ended it.
  EXITED,
  KILLED,
  // A call of NVML did not return, so the keeper has ended the reader.
  HUNG,
};

// The readings that a device has.
enum reading {
  BUSY = 1,
  MEMORY = 2,
  POWER = 4,
  ENERGY = 8,
  TEMPERATURE = 16,
  CLOCK = 32,
  THROTTLE = 64,
};

struct device {
  // The sum of the readings that the device has (enum reading).
  uint32_t has;
  // In percent, milliwatts, degrees Celsius, and MHz.
  uint32_t busy, power, temperature, clock, unused;
  uint64_t memory_used, memory_total;
  // In millijoules.
  uint64_t energy;
  // The reasons why the clock is limited, as bits (nvmlClocksThrottleReason...).
  uint64_t throttle;
  char uuid[UUID_SIZE];
};

struct readings {
  char magic[8];
  uint32_t state, detail;
  // Odd while the devices are written.
  uint32_t sequence;
  // The devices in this file, and those that NVML has counted.
  uint32_t devices, counted;
  // The last error number of NVML of a device without readings; 0 if there was none.
  uint32_t error;
  // When the devices were read: CLOCK_BOOTTIME in nanoseconds.
  uint64_t looked;
  // The number of the call that has begun; 0 between calls. A call is all that the reader asks of
  // one device.
  uint64_t call;
  uint64_t unused[2];
  struct device device[MAX_DEVICES];
};

_Static_assert(sizeof(struct device) == 152 && offsetof(struct device, uuid) == 56, "as declared");
_Static_assert(offsetof(struct readings, device) == 64, "the observer knows this offset");
