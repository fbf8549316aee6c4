import { asText, type Fields, fieldsOrNone } from '../../../src/core/kubernetes/json.ts'
import { buildWarning, MAX_MESSAGE_LENGTH } from '../../../src/core/missed/warning-event.ts'
import { printable } from '../../../src/core/text/printable.ts'
import { hashedName } from '../../../src/lib/hashed-name.ts'
import { rfc3339 } from '../../../src/lib/rfc3339.ts'
import { maximum } from '../../../src/lib/statistics.ts'
import type { ArchivedRun } from '../../../src/runs/archive/archived-run.ts'
import { type Retention, selectExpired } from '../../../src/runs/archive/retention.ts'
import { camelCase } from '../../../src/runs/archive/run-conditions.ts'
import { nameRun } from '../../../src/runs/archive/run-name.ts'
import { buildRunObject, type RunObject } from '../../../src/runs/archive/run-object.ts'
import { addNoProgress, findingText } from '../../../src/runs/card/card-findings.ts'
import { makeRunCard, type RunCard } from '../../../src/runs/card/run-card.ts'
import type { RunPod } from '../../../src/runs/facts/pod-facts.ts'
import { groupRuns, isOver, isRevision, type Run } from '../../../src/runs/facts/run.ts'
import type { ControllerMemory } from './controller-memory.ts'
import { isSettled, type RememberedRun } from './remembered-run.ts'
import type { RunClient } from './run-client.ts'
import type { RunIndex } from './run-index.ts'
import type { SweepClock } from './sweep-clock.ts'

export interface UpdateOptions {
  readonly controllers: ControllerMemory
  readonly client: RunClient
  readonly index: RunIndex
  readonly retention: Retention
  readonly clock: Pick<SweepClock, 'now'>
}

/**
 * The state of a run after an update. `waiting`: none of its pods has started. `over`: it has
 * ended, and its Run is written. `dropped`: it has ended, and gets no Run.
 */
export type Updated = 'waiting' | 'written' | 'over' | 'dropped'

/**
 * Writes the Run of a run, and the Events about its failures, as far as they have changed.
 *
 * @param pods the remembered pods of the run
 * @param now the time in milliseconds since 1970
 * @throws ApiError, a network error, or an error if a Run of another workload has the name
 */
export async function updateRun(
  live: RememberedRun,
  pods: readonly RunPod[],
  options: UpdateOptions,
  now: number,
): Promise<Updated> {
  const { controllers, index } = options
  if (isSettled(pods)) await controllers.refresh(pods)
  const [run] = groupRuns(pods, controllers.in(live.namespace))
  if (run === undefined || !pods.some(hasStarted)) return isSettled(pods) ? 'dropped' : 'waiting'
  const known = index.find(run.namespace, nameRun(run))
  if (!live.isCompared && isArchivedBefore(live, known, run)) return 'over'
  return writeCard(live, makeCard(run, live, now), { ...options, known, now })
}

async function writeCard(
  live: RememberedRun,
  card: RunCard,
  options: UpdateOptions & { readonly known: ArchivedRun | undefined; readonly now: number },
): Promise<Updated> {
  const { client, known, now } = options
  const object = buildRunObject(card, known?.times ?? new Map(), now)
  if (!live.isCreated && isExpired(card, object, options, now)) return 'dropped'
  await writeRun(live, object, client, now)
  await writeEvents(live, buildRunEvents(card, now), client)
  return isOver(card.run.phase) ? 'over' : 'written'
}

/**
 * Compares a run with the Run that an archive wrote before this one started. Reports whether the
 * Run has its end.
 */
function isArchivedBefore(live: RememberedRun, known: ArchivedRun | undefined, run: Run): boolean {
  live.isCompared = true
  if (known?.key !== live.key) return false
  live.isCreated = true
  live.lost = Math.max(known.podsSeen - run.pods.length, 0)
  if (run.pods.length > known.podsSeen) return false
  return known.ended !== undefined && known.phase !== 'Unknown' && isOver(run.phase)
}

function hasStarted({ phase }: RunPod): boolean {
  return phase !== 'Pending'
}

/** The time of which the card of a revision shows the ended pods. */
const REVISION_MS = 24 * 3_600_000

function makeCard(run: Run, live: RememberedRun, now: number): RunCard {
  const recent = run.pods.filter(
    ({ ended, isGone }) => !isGone || now - (ended ?? now) < REVISION_MS,
  )
  const pods = isRevision(run) && recent.length > 0 ? recent : run.pods
  const { lost, noProgress } = live
  const card = addProgress(makeRunCard({ ...run, pods }, now), noProgress)
  if (lost === 0) return card
  const sentence = `${lost} of its pods were deleted while the archive did not watch them`
  return { ...card, missing: [sentence, ...card.missing] }
}

/** A run that has succeeded went on after its processes had made no progress. */
function addProgress(card: RunCard, noProgress: string | undefined): RunCard {
  if (noProgress === undefined || card.run.phase === 'Succeeded') return card
  return { ...card, findings: addNoProgress(card.findings, noProgress) }
}

/** Reports whether a Run would be deleted at once, because the run has ended too long ago. */
function isExpired(
  { ended, run }: RunCard,
  { metadata }: RunObject,
  { index, retention, clock }: UpdateOptions,
  now: number,
): boolean {
  if (!isOver(run.phase)) return false
  // The clock of a node can be behind. That of the apiserver has created the pods.
  const created = maximum(run.pods.map(({ created }) => created)) ?? 0
  const candidate = { ...metadata, ended: Math.max(ended ?? now, created) }
  const all = [...index.of(run.namespace), candidate]
  return selectExpired(all, retention, clock.now()).includes(candidate)
}

async function writeRun(
  live: RememberedRun,
  object: RunObject,
  client: RunClient,
  now: number,
): Promise<void> {
  const text = JSON.stringify(object.status)
  if (live.isCreated && live.written === text) return
  if (!live.isCreated) await client.create(object, live.key)
  live.isCreated = true
  live.isCreated = await client.writeStatus(object)
  if (!live.isCreated) throw new Error(`the Run ${object.metadata.name} was deleted`)
  live.written = text
  live.writtenAt = now
}

async function writeEvents(
  { events }: RememberedRun,
  built: readonly Fields[],
  client: RunClient,
): Promise<void> {
  for (const event of built) {
    const name = asText(fieldsOrNone(event.metadata).name) ?? ''
    const text = `${event.message} ${event.count}`
    if (events.get(name) === text) continue
    await client.writeEvent(event)
    events.set(name, text)
  }
}

/**
 * Builds the Events about the failures of a run, on its workload: one for each finding. The name of
 * an Event is derived from the run and the finding, so that an archive that has restarted
 * overwrites it.
 *
 * @param now the time in milliseconds since 1970
 */
function buildRunEvents({ run, findings }: RunCard, now: number): readonly Fields[] {
  const { namespace, apiVersion, kind, name, uid, revision } = run
  const time = rfc3339(now)
  const failures = findings.filter(({ severity }) => severity === 'failure')
  return failures.map((finding) => {
    const warning = {
      namespace,
      regarding: { apiVersion, kind, name, uid },
      reason: camelCase(finding.name),
      message: printable(findingText(finding), MAX_MESSAGE_LENGTH),
      count: 1 + finding.others,
      first: time,
      last: time,
    }
    return buildWarning(warning, hashedName([finding.name, uid, revision]))
  })
}
