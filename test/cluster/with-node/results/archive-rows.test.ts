import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { start } from '../../../cli/command.ts'
import { freePort } from '../../../free-ports.ts'
import { environment } from '../../../tools/mpi/environment.ts'
import { createArchiveRights } from '../../archive/rights.ts'
import type { Cluster } from '../../machine/cluster.ts'
import { DEBIAN_IMAGE, IMAGES } from '../../machine/images.ts'
import { kubectl } from '../../machine/kubectl.ts'
import { createNamespace, runningCluster } from '../../running.ts'
import { until } from '../../until.ts'
import { startWebhook } from '../../webhook.ts'

// An archive with a storage and the rights of the chart keeps the rows of pods that vanish.

const SPACE = 'archive-rows'
const ARCHIVE = 'archive-rows-system'
const HERE = ['-n', SPACE]
const READER = fileURLToPath(new URL('../../archive/read-rows.py', import.meta.url))

const ANNOTATIONS = { 'ridealong.dev/inject': 'vitals', 'vitals.ridealong.dev/rate': '1' }

function job(name: string, command: string, spec: object = {}): object {
  const container = { name: 'app', image: DEBIAN_IMAGE, command: ['sh', '-c', command] }
  const template = {
    metadata: { annotations: ANNOTATIONS },
    spec: { restartPolicy: 'Never', terminationGracePeriodSeconds: 2, containers: [container] },
  }
  const kind = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name } }
  return { ...kind, spec: { backoffLimit: 0, template, ...spec } }
}

/** Kills its observer, which the kubelet starts again, between two parts of a few seconds. */
const KILL_OBSERVER = `
  rest() { for i in 1 2 3 4 5; do sleep 1; done; }
  rest
  for process in /proc/[0-9]*; do
    grep -qx vitals "$process/comm" && kill -KILL "\${process#/proc/}"
  done
  rest`

/** Starts the archive with the rights of the chart, until the test ends. */
async function archive(t: Test, cluster: Cluster, rows: string) {
  const values = ['--set', 'archive.storage.enabled=true']
  const rights = await createArchiveRights(t, cluster, ARCHIVE, values)
  const kubeconfig = join(t.testdirName, 'config')
  writeFileSync(kubeconfig, rights)
  const port = await freePort()
  const words = ['--storage', rows, '--status-port', `${port}`, '--kubeconfig', kubeconfig]
  const child = start(['archive', '-n', SPACE, ...words])
  const log: string[] = []
  child.stdout?.on('data', (part) => log.push(String(part)))
  child.stderr?.on('data', (part) => log.push(String(part)))
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill()
    await ended
  }
  t.teardown(stop)
  await until('the archive is ready', async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined)
    if (child.exitCode !== null) throw new Error(log.join(''))
    return answer?.status === 200
  })
  return { stop, log }
}

// biome-ignore lint/suspicious/noExplicitAny: an object Run.
type RunObject = any

/** Waits for the Run of a Job that says where its rows are. */
async function awaitRows(cluster: Cluster, job: string): Promise<RunObject> {
  let found: RunObject
  await until(`the rows of ${job} are stored`, async () => {
    const { items } = JSON.parse(await kubectl(cluster, ['get', 'runs', ...HERE, '-o', 'json']))
    found = items.find(({ spec }: RunObject) => spec.workload.name === job)
    return found?.status?.rows !== undefined
  })
  return found
}

async function isGone(cluster: Cluster, job: string): Promise<boolean> {
  const pods = ['get', 'pods', ...HERE, '-l', `job-name=${job}`, '-o', 'name']
  return (await kubectl(cluster, pods)).trim() === ''
}

t.test('the rows of runs outlive their pods', { timeout: 300_000 }, async (t) => {
  const { cluster, api } = await runningCluster(t)
  for (const name of [SPACE, ARCHIVE]) await createNamespace(t, api, name)
  const rows = join(t.testdir({ rows: {} }), 'rows')
  const { log } = await archive(t, cluster, rows)
  const webhook = await startWebhook(cluster, { words: ['--observer-image', IMAGES.observer] })
  t.teardown(() => webhook.remove())
  const jobs = [
    job('brief', 'for i in 1 2 3 4 5 6; do sleep 1; done', { ttlSecondsAfterFinished: 0 }),
    job('endless', 'while :; do sleep 1; done'),
    job('restarted', KILL_OBSERVER),
  ]
  for (const object of jobs)
    await kubectl(cluster, ['create', ...HERE, '-f', '-'], JSON.stringify(object))
  await until('the log of endless is kept', async () => existsSync(join(rows, '.logs')))
  const logs = ['logs', ...HERE, 'job/endless', '-c', 'vitals']
  await until('endless was observed', async () => {
    const text = await kubectl(cluster, logs).catch(() => '')
    return text.split('"section":"process"').length > 5
  })
  await kubectl(cluster, ['delete', 'job/endless', ...HERE])
  const stored = {
    brief: await awaitRows(cluster, 'brief'),
    endless: await awaitRows(cluster, 'endless'),
  }
  t.comment(log.join(''))
  for (const name of ['brief', 'endless'])
    t.ok(await isGone(cluster, name), `the pod of ${name} is gone`)
  for (const [name, run] of Object.entries(stored)) runHasRows(t, rows, name, run)
  const restarted = await awaitRows(cluster, 'restarted')
  bothStartsHaveRows(t, rows, restarted.status.rows)
  duckDbReads(t, rows, [...Object.values(stored), restarted])
})

/** The archive has read the log of the first start after its end. */
function bothStartsHaveRows(t: Test, rows: string, found: RunObject): void {
  t.match(found, { logs: { stored: 2, expected: 2 }, missing: [] })
  const text = gunzipSync(readFileSync(join(rows, found.path, 'rows.jsonl.gz'))).toString()
  const read = text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
  const sampled = read.filter(({ section }) => section === 'process')
  const sources = Map.groupBy(sampled, ({ source }) => /attempt-\d+$/.exec(source)?.[0] ?? 'last')
  t.strictSame(new Set(sources.keys()), new Set(['attempt-1', 'last']))
  for (const [name, own] of sources) t.ok(own.length >= 3, `${own.length} rows of ${name}`)
}

/** Verifies the rows in the status of a Run. */
function runHasRows(t: Test, rows: string, name: string, { status, metadata }: RunObject): void {
  const { path, hasPage, logs, missing } = status.rows
  t.comment(name, JSON.stringify(status.rows))
  const day = status.started.slice(0, 10)
  t.equal(path, `namespace=${SPACE}/date=${day}/run=${metadata.name}`)
  t.strictSame(logs, { stored: 1, expected: 1 })
  t.ok(hasPage)
  t.match(readFileSync(join(rows, path, 'report.html'), 'utf8'), `job/${name} in ${SPACE}`)
  if (name === 'brief') t.strictSame(missing, [])
}

function duckDbReads(t: Test, rows: string, runs: readonly RunObject[]): void {
  const python = join(environment('parquet', 'pyarrow==26.0.1', 'duckdb==2.0.1'), 'bin/python3')
  const read = execFileSync(python, [READER, rows, 'vitals.process.parquet'], { encoding: 'utf8' })
  t.comment(read)
  const found = JSON.parse(read)
  const names = runs.map(({ metadata }) => metadata.name).sort()
  t.strictSame(
    found.map(({ run }: RunObject) => run),
    names,
  )
  for (const { rows, rss } of found) t.ok(rows >= 3 && rss > 0, `${rows} rows`)
}
