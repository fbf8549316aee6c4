import { setFlagsFromString } from 'node:v8'

/**
 * Makes V8 collect garbage early, for a command that reads a large amount of data piece by piece
 * and keeps little of it. By default, V8 first lets the heap grow to a share of the machine's
 * memory. Call this function before the command loads its modules, because loading them already
 * lets the heap grow.
 *
 * V8 reads both flags at each collection (src/heap/memory-controller.cc), so they can be set in a
 * running process. `--optimize-for-size` alone collects so often that `collect` needs nearly twice
 * the processor time. With a limit that doubles after each collection, `collect` needs a quarter
 * more.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--optimize-for-size')
  setFlagsFromString('--heap-growing-percent=100')
}
