import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Registry } from 'prom-client'
import t, { type Test } from 'tap'
import { type Archive, startArchive } from '../../../../cli/archive/service/archive.ts'
import { ARCHIVE_PACE } from '../../../../cli/archive/service/pace.ts'
import { connectBucket } from '../../../../cli/archive/storage/bucket/bucket-client.ts'
import { openBucketFolders } from '../../../../cli/archive/storage/bucket/bucket-folders.ts'
import type { RowsWriter } from '../../../../cli/archive/storage/rows-writer.ts'
import type { RunFolders } from '../../../../cli/archive/storage/run-folders.ts'
import { openRunStorage } from '../../../../cli/archive/storage/stored-runs.ts'
import { VOLUME_FILES } from '../../../../cli/archive/storage/volume-files.ts'
import { openVolumeFolders } from '../../../../cli/archive/storage/volume-folders.ts'
import { startBucket } from '../../../stand-ins/bucket.ts'
import { growingLog } from '../../../stand-ins/growing-log.ts'
import { until } from '../../../until.ts'
import { capturedLog } from '../../../webhook/server.ts'
import {
  CONTROLLER,
  deletePod,
  pathOf,
  putPod,
  type RunStatus,
  startWorld,
  statusOf,
  type World,
} from '../world.ts'

// An archive with a storage, at a simulated apiserver. In place of Parquet, the folder of a run
// gets the texts of its logs. The tests of stored-runs and of convert have real files.

const REMOVAL = /lack a right.*cannot remove rows/
const INDEX = 'clusters/hpc/namespace=hpc/index.html'

/** Everyone who reaches the port can read it, so it has no names. */
const COUNTED = /^failed attempts: \d+; the log has the reasons$/

const FOREVER = { maxAgeMs: Number.POSITIVE_INFINITY, maxRuns: 100 }

const WRITER: RowsWriter = {
  async rows({ folder, logs }) {
    const texts = logs.map(({ file }) => (existsSync(file) ? readFileSync(file, 'utf8') : ''))
    await writeFile(join(folder, 'rows.txt'), texts.join(''))
    return { rows: 1, logs: texts.filter((one) => one !== '').length, missing: [] }
  },
  page: async () => undefined,
  close: async () => {},
}

interface Choices {
  readonly retention?: typeof FOREVER
  readonly folders?: RunFolders
  readonly writer?: RowsWriter
  readonly namespaces?: readonly string[]
}

async function start(t: Test, { server, ca }: World, root: string, choices: Choices = {}) {
  const { retention = FOREVER, writer = WRITER, namespaces = ['hpc'] } = choices
  const access = { server, credentials: async () => ({ ca, agent: false as const }) }
  const backoff = { pauseMs: 20, longestPauseMs: 100 }
  const { log, lines } = capturedLog()
  const archive = startArchive({
    publicUrl: 'https://runs.example.org/',
    ...{ access, namespaces, metrics: new Set(['vitals', 'mpi-trace']), retention },
    ...{ registry: new Registry(), log },
    storage: await openRunStorage({
      ...{ root, files: VOLUME_FILES, writer },
      folders: choices.folders ?? openVolumeFolders(root, VOLUME_FILES),
    }),
    pace: {
      ...ARCHIVE_PACE,
      ...{ turnMs: 20, updateMs: 50, sweepMs: 100, listRowsMs: 100, lingerMs: 100, readMs: 20 },
      ...{ ending: backoff, writing: backoff, storing: backoff },
    },
  })
  t.teardown(() => archive.stop())
  await until('the archive is ready', () => archive.checks().every(({ fatal }) => !fatal))
  return { ...archive, lines }
}

async function awaitRows(world: World, pod: string, phase: string): Promise<RunStatus> {
  await until(`the rows of ${pod} are stored, and it is ${phase}`, () => {
    const status = statusOf(world, pod)
    return status?.rows !== undefined && status.phase === phase
  })
  return statusOf(world, pod).rows
}

t.test('the rows of a run are stored when it ends, and its Run says where', async (t) => {
  const [world, root] = [await startWorld(t), t.testdir({})]
  await start(t, world, root)
  const rowsOf = (pod: string) => readFileSync(join(root, pathOf(pod), 'rows.txt'), 'utf8')
  const log = growingLog('first\n')
  world.logs.set('plain', log)
  putPod(world, 'plain', 'running')
  await until('the log is kept', () => keptTexts(root).includes('first\n'))
  log.append('second\n')
  log.end()
  putPod(world, 'plain', 'ended')
  const rows = await awaitRows(world, 'plain', 'Succeeded')
  t.match(rows, { path: pathOf('plain'), hasPage: true, missing: [], omitted: 0 })
  t.equal(rows.url, `https://runs.example.org/${pathOf('plain')}/report.html`)
  t.strictSame(rows.logs, { stored: 1, expected: 1 })
  t.equal(rowsOf('plain'), 'first\nsecond\n')
  await until('its log is removed', () => readdirSync(join(root, '.logs')).length === 0)
  deletePod(world, 'plain')

  world.logs.set('deleted', growingLog('before\n'))
  putPod(world, 'deleted', 'running')
  await until('the log is kept', () => keptTexts(root).includes('before\n'))
  deletePod(world, 'deleted')
  const partly = await awaitRows(world, 'deleted', 'Deleted')
  t.strictSame(partly.missing, [
    'hpc/deleted/vitals: its pod was deleted before its log was read to the end',
  ])
  t.equal(rowsOf('deleted'), 'before\n')
  await until('the index has both runs', () => listedIn(root).length === 2)
  t.match(listedIn(root), [
    { workload: 'pod/deleted', phase: 'Deleted', hasPage: true },
    {
      ...{ workload: 'pod/plain', phase: 'Succeeded', seconds: 10 },
      ...{ pods: { observed: 1, expected: 1 }, images: ['registry.example/solver:1'] },
    },
  ])
  t.ok(existsSync(join(root, 'namespace=hpc/index.html')))
})

/** Returns the runs in the index of the namespace. */
// biome-ignore lint/suspicious/noExplicitAny: the runs of a file in JSON format.
function listedIn(root: string): any[] {
  const file = join(root, 'namespace=hpc/runs.json')
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).runs : []
}

function keptTexts(root: string): string {
  const above = join(root, '.logs')
  const names = existsSync(above) ? readdirSync(above, { recursive: true, encoding: 'utf8' }) : []
  const logs = names.filter((name) => name.endsWith('.log'))
  return logs.map((name) => readFileSync(join(above, name), 'utf8')).join('')
}

t.test(
  'an archive stores the logs of one before it, and deletes rows with their Run',
  async (t) => {
    const [world, root] = [await startWorld(t), t.testdir({})]
    const first = await start(t, world, root)
    for (const pod of ['lost', 'kept']) {
      world.logs.set(pod, growingLog(`${pod}\n`))
      putPod(world, pod, 'running')
    }
    await until(
      'the logs are kept',
      () => /kept\n/.test(keptTexts(root)) && /lost\n/.test(keptTexts(root)),
    )
    await until('the Run is there', () => statusOf(world, 'lost')?.phase === 'Running')
    await first.stop()
    deletePod(world, 'lost')
    world.logs.get('kept')?.append('more\n')
    putPod(world, 'kept', 'ended')
    const second = await start(t, world, root)
    const lost = await awaitRows(world, 'lost', 'Unknown')
    await until('the index says how it ended', () => {
      return listedIn(root).some(({ phase, workload }) => {
        return phase === 'Unknown' && workload === 'pod/lost'
      })
    })
    t.strictSame(lost.missing, [
      'hpc/lost/vitals: the archive did not run when its container ended',
    ])
    t.strictSame((await awaitRows(world, 'kept', 'Succeeded')).missing, [])
    t.equal(readFileSync(join(root, pathOf('kept'), 'rows.txt'), 'utf8'), 'kept\nmore\n')
    await until('no log is left', () => readdirSync(join(root, '.logs')).length === 0)
    await second.stop()
    const asked = world.standIn.calls.length
    await start(t, world, root, { retention: { ...FOREVER, maxRuns: 1 } })
    await until('the rows of one run are deleted', () => {
      return readdirSync(join(root, 'namespace=hpc/date=2026-01-01')).length === 1
    })
    t.ok(existsSync(join(root, pathOf('lost'))), 'that of the run that ended last is kept')
    await until('the index has one run', () => listedIn(root).length === 1)
    t.ok(world.standIn.calls.length > asked)
  },
)

t.test('a pod that a run gets while its rows are stored loses none', async (t) => {
  const [world, root] = [await startWorld(t), t.testdir({})]
  const put = (pod: string) => {
    world.logs.set(pod, growingLog(`${pod}\n`))
    putPod(world, pod, 'running', 'vitals', [CONTROLLER])
  }
  const isKept = (pod: string) => keptTexts(root).includes(`${pod}\n`)
  const first = await start(t, world, root)
  put('early')
  await until('the first log is kept', () => isKept('early'))
  await first.stop()
  deletePod(world, 'early')
  let [isWriting, mayWrite] = [false, false]
  const writer: RowsWriter = {
    ...WRITER,
    async rows(run) {
      isWriting = true
      await until('the rows may be written', () => mayWrite)
      return WRITER.rows(run)
    },
  }
  await start(t, world, root, { writer })
  await until('the first rows are being written', () => isWriting)
  put('late')
  await until('the second log is kept', () => isKept('late'))
  deletePod(world, 'late')
  await until('the run has ended', () => statusOf(world, 'solver')?.phase === 'Deleted')
  mayWrite = true
  await until('no log is left', () => readdirSync(join(root, '.logs')).length === 0)
  const day = join(root, 'namespace=hpc/date=2026-01-01')
  const texts = readdirSync(day).map((run) => readFileSync(join(day, run, 'rows.txt'), 'utf8'))
  t.strictSame(texts.sort(), ['early\n', 'late\n'])
})

t.test('a bucket that refuses rows delays no Run, and gets and loses them later', async (t) => {
  const [world, root, bucket] = [await startWorld(t), t.testdir({}), await startBucket()]
  t.teardown(bucket.close)
  let written = 0
  const writer: RowsWriter = {
    ...WRITER,
    rows(run) {
      written += 1
      return WRITER.rows(run)
    },
  }
  const refuse = (refused: string) => (method: string) =>
    method === refused ? { status: 403, code: 'AccessDenied' } : undefined
  const folders = openBucketFolders(connectBucket(bucket.settings), 'clusters/hpc/')
  const retention = { ...FOREVER, maxRuns: 1 }
  const archive = await start(t, world, root, { retention, folders, writer })
  const problem = () => problemOf(archive)
  const isStored = (pod: string) => bucket.objects.has(`clusters/hpc/${pathOf(pod)}/run.json`)
  const put = async (pod: string) => {
    world.logs.set(pod, growingLog(`${pod}\n`))
    world.logs.get(pod)?.end()
    putPod(world, pod, 'ended')
    await until(`${pod} has its Run`, () => statusOf(world, pod)?.phase === 'Succeeded')
  }
  bucket.fault = refuse('PUT')
  await put('first')
  await until('the refusal is reported', () => /lack a right/.test(archive.lines.join()))
  t.match(problem(), COUNTED)
  const tries = () => bucket.calls.filter((call) => call.startsWith('PUT')).length
  await until('it is tried again', () => tries() > 2)
  bucket.fault = refuse('DELETE')
  await until('the rows are stored', () => isStored('first'))
  t.equal(written, 1, 'the rows are not written again')
  await until('no log is left', () => readdirSync(join(root, '.logs')).length === 0)
  deletePod(world, 'first')
  await put('second')
  await until('its rows are stored', () => isStored('second'))
  await until('the Run of one is deleted', () => world.standIn.all('runs').length === 1)
  await until('the refusal is reported', () => archive.lines.some((line) => REMOVAL.test(line)))
  t.match(problem(), COUNTED)
  bucket.fault = () => undefined
  await until('the rows of one are removed', () => isStored('first') !== isStored('second'))
  await until('nothing is wrong any more', () => problem() === '')
  await until('the index is written', () => bucket.objects.has(INDEX))
})

t.test(
  'the runs of one namespace do not keep those of another one from being stored',
  async (t) => {
    const [world, root] = [await startWorld(t), t.testdir({})]
    const stopped = new AbortController()
    let waiting = 0
    const writer: RowsWriter = {
      ...WRITER,
      async rows(run) {
        if (run.logs[0]?.observer.namespace === 'hpc') return WRITER.rows(run)
        waiting += 1
        await once(stopped.signal, 'abort')
        throw new Error('the writer was stopped')
      },
      close: async () => stopped.abort(),
    }
    await start(t, world, root, { writer, namespaces: [] })
    const put = (own: World, pod: string) => {
      world.logs.set(pod, growingLog(`${pod}\n`))
      world.logs.get(pod)?.end()
      putPod(own, pod, 'ended')
    }
    const other = { ...world, namespace: 'other' }
    for (let index = 0; index < 30; index += 1) put(other, `large-${index}`)
    await until('the other namespace has all that it gets', () => waiting === 8)
    put(world, 'plain')
    await awaitRows(world, 'plain', 'Succeeded')
    t.equal(waiting, 8)
  },
)

function problemOf({ checks }: Pick<Archive, 'checks'>): string {
  return checks().find(({ name }) => name === 'rows')?.problem ?? ''
}

/** The rows of a recorded job of MPI that stops for 16 s, a text for each timepoint. */
function recordedTimepoints(): readonly string[] {
  const file = new URL('../../../logs/mpi/mpi-trace-resumed.log', import.meta.url)
  const lines = readFileSync(file, 'utf8').split('\n')
  const rows = lines.filter((line) => /^\{"time":.*"section":"(rank|open|progress)"/.test(line))
  const timepoints = Map.groupBy(rows, (row) => row.slice(0, row.indexOf(',')))
  return [...timepoints.values()].map((own) => `${own.join('\n')}\n`)
}

const retimed = (rows: string, at: number) =>
  rows.replaceAll(/"time":"[^"]+"/g, `"time":"${new Date(at).toISOString()}"`)

t.test('a run that makes no progress says so until it goes on', async (t) => {
  const [world, recorded] = [await startWorld(t), recordedTimepoints()]
  await start(t, world, t.testdir({}))
  const stopped = recorded.findIndex((rows) => rows.includes('"elapsed":14.'))
  const log = growingLog('METRICS OPERATOR COLLECTION START\n')
  const begin = Date.now() - stopped * 1000
  for (const [index, rows] of recorded.slice(0, stopped).entries())
    log.append(retimed(rows, begin + index * 1000))
  world.logs.set('job', log)
  putPod(world, 'job', 'running', 'mpi-trace')
  const conditionOf = () => statusOf(world, 'job')?.conditions?.find(isNoProgress)
  const isNoProgress = ({ type }: RunStatus) => type === 'NoProgress'
  const goOn = async (what: string, rows: string, holds: () => boolean) => {
    await until(what, async () => {
      log.append(retimed(rows, Date.now()))
      await sleep(100)
      return holds()
    })
  }
  const isFound = () => conditionOf() !== undefined
  await goOn('the condition is there', recorded[stopped] ?? '', isFound)
  const waits = /^For 1\d(\.\d+)? s, MPI ranks 0-1 wait in MPI_Barrier .* has not come: it sleeps/
  t.match(conditionOf(), { status: 'True', reason: 'Failure', message: waits })
  t.match(statusOf(world, 'job'), { phase: 'Running', summary: { finding: waits } })
  const events = () => world.standIn.all('events').filter(({ reason }) => reason === 'NoProgress')
  await until('the Event is there', () => events().length === 1)
  t.match(events()[0], { type: 'Warning', message: waits })
  await goOn('the condition is gone', recorded.at(-1) ?? '', () => !isFound())
  t.match(statusOf(world, 'job'), { phase: 'Running', summary: { finding: '-' } })
})
