import { readFileSync } from 'node:fs'
import type { Side } from '../../../../src/runs/compare/change.ts'
import type { ComparedRun } from '../../../../src/runs/compare/run-facts.ts'

/** The kinds of recorded runs: test/logs/README.md describes them. */
export type Kind = 'even' | 'uneven' | 'limited' | 'crowded' | 'hang' | 'crash'

/** What is known of the runs that were recorded without it: the script kept only such runs. */
const FINISHED: Pick<ComparedRun, 'programs' | 'completion'> = {
  programs: ['split'],
  completion: { state: 'finished', reason: null },
}

/** Returns the facts of all recorded runs of a kind. */
export function recordedRuns(kind: Kind): readonly ComparedRun[] {
  const url = new URL(`../../../logs/compare/${kind}.jsonl`, import.meta.url)
  return readFileSync(url, 'utf8')
    .trim()
    .split('\n')
    .map((line) => ({ ...FINISHED, ...JSON.parse(line) }))
}

/** Returns a generator of numbers from 0 to 1, which is the same for the same seed (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Returns different items of a list, in random order. */
export function draw<Item>(
  items: readonly Item[],
  count: number,
  random: () => number,
): readonly Item[] {
  const left = [...items]
  return Array.from({ length: count }, () => {
    const [item] = left.splice(Math.floor(random() * left.length), 1)
    return item as Item
  })
}

/** Returns a side of these runs. */
export function side(name: string, runs: readonly ComparedRun[]): Side {
  return { name, runs }
}
