import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildRunsPage } from '../../../../../cli/archive/storage/runs-index.ts'
import type { StoredRun } from '../../../../../src/runs/archive/listed-run.ts'
import { mapParts } from '../../../../../src/runs/time/parts.ts'

const DAY = 24 * 3600
/** When the first run started, in seconds since 1970. */
const FIRST = Date.UTC(2026, 0, 1) / 1000

/** Returns a run of a Job that is repeated each day; every tenth one failed. */
export function storedRun(index: number): StoredRun {
  const isBad = index % 10 === 9
  const workload = `job/solver-${index % 7}`
  const name = `solver-${index % 7}-${String(index).padStart(8, '0')}`
  const started = FIRST + index * DAY
  return {
    ...{ name, workload, started, seconds: 60 + index },
    phase: isBad ? 'Failed' : 'Succeeded',
    time: timeOf(index),
    pods: { observed: 4, expected: 4 },
    cores: { used: 2 + (index % 3) / 2, requested: 4 },
    memory: { used: (1 + (index % 5)) * 2 ** 28, requested: 2 ** 31 },
    images: [`registry.example/solver:${index % 3}`],
    finding: isBad ? 'pod 2 had container app killed: memory ran out (limit 2 GiB)' : null,
    path: `date=${new Date(started * 1000).toISOString().slice(0, 10)}/run=${name}`,
    hasPage: true,
  }
}

/** The time of 4 pods, which began before the archive had it for the first run. */
function timeOf(index: number): StoredRun['time'] {
  if (index === 0) return null
  const known = { preparing: 4000 / index, running: 4 * (60 + index), lost: index === 42 ? 8 : 0 }
  const seconds = mapParts((part) => new Map(Object.entries(known)).get(part) ?? 0)
  return { places: 4, restarts: index === 42 ? 1 : 0, seconds }
}

/** Returns this number of runs, the last one first, as in an index. */
export function storedRuns(count: number): readonly StoredRun[] {
  return Array.from({ length: count }, (_, index) => storedRun(count - 1 - index))
}

/** Writes the page of these runs, and returns its path. */
export async function writeRunsPage(
  folder: string,
  runs: readonly StoredRun[],
  namespace = 'hpc',
): Promise<string> {
  const path = join(folder, 'index.html')
  const data = { namespace, runs, omitted: 0, written: FIRST + runs.length * DAY }
  writeFileSync(path, [...(await buildRunsPage(data))].join(''))
  return path
}
