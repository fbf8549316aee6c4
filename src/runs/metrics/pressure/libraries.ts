import type { SectionColumns } from '../../evidence/evidence.ts'
import type { PodEvidence } from '../../evidence/run-evidence.ts'
import { PRESSURE } from './metric.ts'

const PLACEMENT = {
  metric: PRESSURE.name,
  section: 'placement',
  columns: ['libraries'],
} as const satisfies SectionColumns

/** The columns that `findLibraries` reads. */
export const LIBRARY_READS: readonly SectionColumns[] = [PLACEMENT]

/**
 * Returns the libraries that processes of a pod have mapped, such as mpi and python; null if that
 * is not known of any process.
 */
export function findLibraries(pod: PodEvidence): ReadonlySet<string> | null {
  const texts = pod.things(PLACEMENT).flatMap(({ readings }) => {
    return readings.get('libraries')?.text ?? []
  })
  return texts.length === 0 ? null : new Set(texts.flatMap((text) => text.split(',')))
}
