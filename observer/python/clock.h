#pragma once

#include "../preload/system.h"

static uint64_t read_clock(int clock) {
  int64_t time[2] = {0, 0};
  call(SYS_clock_gettime, clock, (long)time, 0, 0);
  return (uint64_t)time[0] * 1000000000u + (uint64_t)time[1];
}
