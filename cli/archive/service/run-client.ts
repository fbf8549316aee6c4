import { ApiError, isConflict, isMissing } from '../../../src/cluster/api-error.ts'
import type { Apiserver } from '../../../src/cluster/apiserver.ts'
import { applyEvent } from '../../../src/cluster/events.ts'
import { asObjects, type Fields, fieldsOrNone } from '../../../src/core/kubernetes/json.ts'
import { type ArchivedRun, readArchivedRun } from '../../../src/runs/archive/archived-run.ts'
import { readRunCard } from '../../../src/runs/archive/read-run.ts'
import type { RunOfRows } from '../../../src/runs/archive/rows-path.ts'
import type { RunCondition } from '../../../src/runs/archive/run-conditions.ts'
import type { RunObject } from '../../../src/runs/archive/run-object.ts'
import type { StoredRows } from '../../../src/runs/archive/stored-rows.ts'
import type { RunCard } from '../../../src/runs/card/run-card.ts'
import type { RunPhase } from '../../../src/runs/facts/run.ts'
import { pathOfRuns } from '../../shared/path-of-runs.ts'

/** Writes objects Run and Events. All functions throw ApiError, or a network error. */
export interface RunClient {
  /**
   * Creates an object Run without its status; does nothing if it exists.
   *
   * @throws an error if an object of another workload has the name
   */
  create(object: RunObject, key: string): Promise<void>
  /** Replaces the status of an object Run. Returns false if the object does not exist. */
  writeStatus(object: RunObject): Promise<boolean>
  /**
   * Sets the phase of an object Run whose pods are gone, and adds a condition; does nothing if the
   * object does not exist.
   */
  end(run: ArchivedRun, end: RunEnd): Promise<void>
  /** Reads the card in an object Run; undefined if there is none. */
  readCard(run: RunOfRows): Promise<RunCard | undefined>
  /**
   * Writes where the rows of a run are; does nothing if its object Run does not exist.
   *
   * @param url the URL of its page; undefined if it has none
   */
  writeRows(run: RunOfRows, rows: StoredRows, url: string | undefined): Promise<void>
  /** Deletes an object Run; does nothing if it does not exist. */
  delete(run: ArchivedRun): Promise<void>
  writeEvent(event: Fields): Promise<void>
}

/** How a run ended whose pods were not seen to end. */
export interface RunEnd {
  readonly phase: RunPhase
  /** In RFC 3339 format. */
  readonly ended: string
  readonly condition?: RunCondition
}

/** Fields that another manager has set are overwritten: only the archive owns these objects. */
const FIELD_MANAGER = 'ridealong-archive'
/** The manager of the field `status.rows`, which is written apart from the others. */
const ROWS_MANAGER = 'ridealong-archive-rows'
const OWNER = { fieldManager: FIELD_MANAGER, force: 'true' } as const

export function createRunClient(api: Apiserver, answerMs: number): RunClient {
  const signal = () => AbortSignal.timeout(answerMs)
  const pathOf = ({ namespace, name }: Pick<ArchivedRun, 'namespace' | 'name'>) =>
    `${pathOfRuns(namespace)}/${name}`
  return {
    async create({ status: _, ...object }, key) {
      const { namespace } = object.metadata
      const create = () =>
        api.ask({ path: pathOfRuns(namespace), create: object, signal: signal() })
      const error = await create().then(() => undefined, conflictOnly)
      if (error === undefined) return
      const path = pathOf(object.metadata)
      const found = readArchivedRun(await api.ask({ path, signal: signal() }))
      if (found?.key !== key)
        throw new Error(`the Run ${object.metadata.name} is that of another workload`)
    },
    async writeStatus({ apiVersion, kind, metadata, status }) {
      const path = `${pathOf(metadata)}/status`
      const apply = { apiVersion, kind, metadata, status }
      return api.ask({ path, query: OWNER, apply, signal: signal() }).then(() => true, ifMissing)
    },
    async end(run, { phase, ended, condition }) {
      const path = pathOf(run)
      const found = await api.ask({ path, signal: signal() }).catch(ifMissing)
      if (found === false) return
      const before = asObjects(fieldsOrNone(found.status).conditions)
      const conditions = condition === undefined ? before : [...before, condition]
      const patch = { status: { phase, ended, conditions } }
      await api.ask({ path: `${path}/status`, patch, signal: signal() }).catch(ifMissing)
    },
    async readCard(run) {
      const found = await api.ask({ path: pathOf(run), signal: signal() }).catch(ifMissing)
      return found === false ? undefined : readRunCard(found, Date.now())
    },
    async writeRows(run, rows, url) {
      const patch = { status: { rows: { ...rows, ...(url === undefined ? {} : { url }) } } }
      const [path, query] = [`${pathOf(run)}/status`, { fieldManager: ROWS_MANAGER }]
      await api.ask({ path, query, patch, signal: signal() }).catch(ifMissing)
    },
    async delete(run) {
      await api.ask({ path: pathOf(run), delete: {}, signal: signal() }).catch(ifMissing)
    },
    writeEvent: (event) =>
      applyEvent(api, event, { fieldManager: FIELD_MANAGER, signal: signal() }),
  }
}

function conflictOnly(error: unknown): ApiError {
  if (error instanceof ApiError && isConflict(error)) return error
  throw error
}

function ifMissing(error: unknown): false {
  if (isMissing(error)) return false
  throw error
}
