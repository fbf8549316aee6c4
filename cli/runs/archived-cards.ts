import { ApiError } from '../../src/cluster/api-error.ts'
import { readServedKinds } from '../../src/cluster/discovery.ts'
import { listObjects } from '../../src/cluster/list.ts'
import { readRunCard } from '../../src/runs/archive/read-run.ts'
import { RUN_API_VERSION, RUNS_PLURAL } from '../../src/runs/archive/run-object.ts'
import { isOver, runKey } from '../../src/runs/card/run.ts'
import type { RunCard } from '../../src/runs/card/run-card.ts'
import type { PodPlace } from '../../src/runs/collect/run-controllers.ts'
import { pathOfRuns } from '../shared/path-of-runs.ts'

/** The cards in the objects Run that an archive has written. */
export interface ArchivedCards {
  readonly cards: readonly RunCard[]
}

/**
 * Lists the cards in objects Run; none if the cluster does not serve this kind.
 *
 * @returns undefined if the user lacks the right to list them
 * @throws another ApiError, or a network error
 */
export async function listArchivedCards(
  { apiserver, namespace }: PodPlace,
  now: number,
): Promise<ArchivedCards | undefined> {
  const served = await readServedKinds(apiserver, RUN_API_VERSION)
  if (!served.some(({ plural }) => plural === RUNS_PLURAL)) return { cards: [] }
  try {
    const cards = await listObjects(apiserver, { path: pathOfRuns(namespace) }, async (page) => {
      return page.flatMap((object) => readRunCard(object, now) ?? [])
    })
    return { cards }
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return undefined
    throw error
  }
}

/**
 * Joins the cards of pods with archived ones. The archive remembers deleted pods, so an ended run
 * has its archived card. While a run goes on, its pods are newer.
 *
 * @param isSelective whether only some pods were listed: then other runs are left out
 */
export function joinCards(
  ofPods: readonly RunCard[],
  archived: readonly RunCard[],
  isSelective: boolean,
): readonly RunCard[] {
  const known = new Map(archived.map((card) => [runKey(card.run), card]))
  const joined = ofPods.map((card) => {
    const other = known.get(runKey(card.run))
    return other !== undefined && isOver(other.run.phase) ? other : card
  })
  const listed = new Set(ofPods.map(({ run }) => runKey(run)))
  const others = archived.filter(({ run }) => !isSelective && !listed.has(runKey(run)))
  return [...joined, ...others]
}
