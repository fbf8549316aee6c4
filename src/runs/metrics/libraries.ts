import type { SectionColumns } from '../evidence/evidence.ts'
import type { PodEvidence, RunEvidence } from '../evidence/run-evidence.ts'
import { PLACEMENTS } from './usual-sections.ts'

const PLACEMENT = {
  ...PLACEMENTS,
  columns: ['libraries'],
} as const satisfies SectionColumns

/** The columns that `librariesByPod` reads. */
export const LIBRARY_READS: readonly SectionColumns[] = [PLACEMENT]

/**
 * Returns the libraries that processes of each pod have mapped, such as mpi and python; null if
 * that is not known of any process of a pod.
 */
export function librariesByPod({
  pods,
}: RunEvidence): ReadonlyMap<string, ReadonlySet<string> | null> {
  return new Map(pods.map((pod) => [pod.pod, findLibraries(pod)]))
}

function findLibraries({ things }: PodEvidence): ReadonlySet<string> | null {
  const texts = things(PLACEMENT).flatMap(({ readings }) => readings.get('libraries')?.text ?? [])
  return texts.length === 0 ? null : new Set(texts.flatMap((text) => text.split(',')))
}
