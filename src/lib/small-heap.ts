import { setFlagsFromString } from 'node:v8'

/**
 * Makes V8 collect garbage early. A command can call this function if it reads much data in small
 * pieces and keeps few of them. By default, the heap grows to a share of the machine's memory
 * before V8 collects garbage. Call this function before the command loads its modules, because the
 * heap also grows while they are loaded.
 *
 * V8 reads both flags at each collection (src/heap/memory-controller.cc). A running process can
 * therefore set them. If a process sets only `--optimize-for-size`, V8 collects garbage very often,
 * and `ridealong collect` needs nearly twice the processor time. If the limit of the heap also
 * doubles after each collection, the command needs a quarter more.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--optimize-for-size')
  setFlagsFromString('--heap-growing-percent=100')
}
