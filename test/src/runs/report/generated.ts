import type { Entry } from '../../../../src/runs/log/entry.ts'
import { parseEntry } from '../../../../src/runs/log/parse.ts'
import { BUILT_IN_ROWS } from '../log/built-in.ts'

/** A generated run for reports of many pods. Its numbers are computed by a formula. */
export interface Generated {
  readonly pods: number
  readonly timepoints: number
  /** The pod that is slower than the others. */
  readonly straggler?: number
  readonly program?: string
}

/** Generates the JSON Lines that `collect` would write, one at a time. */
export function* generatedLines(run: Generated): Generator<string> {
  for (let index = 0; index < run.pods; index++) {
    for (let timepoint = 0; timepoint < run.timepoints; timepoint++)
      yield JSON.stringify(sample(run, index, timepoint))
    const cut = 'its end is missing: the observer still ran, or the log was cut off'
    const cuts = index === 1 ? [cut] : []
    const log = {
      ...placeOf(index),
      kind: 'log',
      metadata: { owner: 'Job/generated' },
      timepoints: 1,
    }
    yield JSON.stringify({ ...log, isAverage: false, summary: [], cuts })
  }
}

/**
 * Generates the lines of a run in which all pods except the straggler compute half as much, so
 * that the straggler is found.
 */
export function* busyLines(run: Generated): Generator<string> {
  for (const line of generatedLines(run)) {
    const row: { readonly pod_index: string; readonly percent_cpu?: number } = JSON.parse(line)
    const { pod_index, percent_cpu: percent } = row
    const isHalved = percent !== undefined && pod_index !== `${run.straggler}`
    yield isHalved ? JSON.stringify({ ...row, percent_cpu: percent / 2 }) : line
  }
}

/** Returns the lines of `generatedLines` as entries. */
export function generatedEntries(run: Generated): Entry[] {
  return [...generatedLines(run)].flatMap((line) => parseEntry(line, BUILT_IN_ROWS) ?? [])
}

function placeOf(index: number) {
  const pod = `generated-${index}-abcde`
  const source = `hpc/${pod}/perf-sysstat`
  return {
    kind: 'process',
    source,
    metric: 'perf-sysstat',
    section: 'process',
    namespace: 'hpc',
    pod,
    node: 'n',
    pod_index: `${index}`,
  }
}

/** Returns a number from 0 to 1 that seems random, and is always the same for a seed. */
function noise(seed: number): number {
  const x = Math.sin(seed * 12.9898) * 43758.5453
  return x - Math.floor(x)
}

function sample({ straggler, program = 'lmp' }: Generated, index: number, timepoint: number) {
  const seconds = timepoint * 10
  const isSlow = index === straggler
  const wave = noise(index * 1000 + timepoint)
  const isWriting = timepoint % 12 === 5
  const time = new Date(1.79e12 + seconds * 1000 + (index % 7) * 300).toISOString()
  return {
    ...placeOf(index),
    timepoint,
    time,
    seconds,
    interval: 10,
    container: 'lammps',
    program,
    pid: 100 + index,
    percent_cpu: (isSlow ? 62 : 96) + wave * 4,
    kb_rd_s: timepoint === 0 ? 5200 : 0,
    kb_wr_s: isWriting ? 900 + wave * 300 : wave * 4,
    rss: 180_000 + Math.min(timepoint, 20) * 1500 + (index % 5) * 900,
    cswch_s: (isSlow ? 420 : 35) + wave * 12,
    nvcswch_s: 3 + wave * 2,
  }
}
