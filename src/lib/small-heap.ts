import { setFlagsFromString } from 'node:v8'

/**
 * Makes V8 collect garbage early. A command can call this function if it reads much data in small
 * pieces and keeps few of them. By default, the heap grows to a share of the machine's memory
 * before V8 collects garbage. Call this function before the command loads its modules, because the
 * heap also grows while they are loaded.
 *
 * V8 reads both flags at each collection (src/heap/memory-controller.cc), so a running process can
 * set them. With `--optimize-for-size` alone, V8 collects garbage so often that `ridealong collect`
 * needs nearly twice the processor time. With a limit that doubles after each collection, it needs
 * a quarter more.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--optimize-for-size')
  setFlagsFromString('--heap-growing-percent=100')
}
