import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { median } from '../../../src/lib/statistics.ts'
import { freePort } from '../../free-ports.ts'
import { createMemoryGroup, reasonToSkipGroups } from '../../observers/large/memory-group.ts'
import { buildForTest } from '../../release/built/build-for-test.ts'
import { growingLog } from '../../stand-ins/growing-log.ts'
import { kubeconfigOf } from '../../stand-ins/kubeconfig.ts'
import { until } from '../../until.ts'
import { plainEnvironment } from '../host.ts'
import { CLOCKS, TENANTS } from './hostile-tenants.ts'
import { recordedLog } from './observers.ts'
import { CONTROLLER, putPod, type RunStatus, startWorld, statusOf, type World } from './world.ts'

// The built command `ridealong archive` runs as a process with the memory limit of the chart. It
// stores an honest run twice: without other tenants, and beside tenants that use as much of the
// archive as they can. The apiserver and the kubelet are simulated: see hostile-tenants.ts.
//
// The test prints how long after its end the run is final. TURNS=3 measures three times, to compare
// the medians on a machine that does nothing else.

const TURNS = Number(process.env.TURNS ?? 1)

/** The memory limit of the chart, in MiB. */
const LIMIT_MIB = Number(
  /^archive:[\s\S]*?limits:\s+memory: (\d+)Mi/m.exec(
    readFileSync(new URL('../../../charts/ridealong/values.yaml', import.meta.url), 'utf8'),
  )?.[1],
)

/** How long the honest run goes on, in milliseconds. */
const RUN_MS = 15_000

const PODS = Array.from({ length: 8 }, (_, index) => `honest-${index}`)
const LOG = recordedLog('lammps-0.vitals')

interface Outcome {
  /** The time from the end of the last pod to the final Run with its rows, in seconds. */
  readonly seconds: number
  /** The highest resident memory of the archive, in MiB. */
  readonly peak: number
  readonly status: RunStatus
  /** The stored rows, by the path of their file. */
  readonly rows: ReadonlyMap<string, string>
}

interface RunningArchive {
  readonly root: string
  peak(): number
  /** Ends the archive; returns its exit code and the number of kills for its memory. */
  stop(): Promise<{ readonly code: number | null; readonly kills: number }>
}

t.setTimeout(1_800_000)

async function startArchive(t: Test, world: World, program: string): Promise<RunningArchive> {
  const above = mkdtempSync(join(tmpdir(), 'ridealong-tenants-'))
  t.teardown(() => rmSync(above, { recursive: true }))
  const [root, kubeconfig] = [join(above, 'rows'), join(above, 'kubeconfig')]
  mkdirSync(root)
  writeFileSync(kubeconfig, kubeconfigOf(world.server, world.ca))
  const group = createMemoryGroup(LIMIT_MIB * 2 ** 20)
  const port = await freePort()
  const child = spawn(
    'sh',
    [
      ...['-c', `${group.join}; exec "$@"`, 'sh', process.execPath, program, 'archive'],
      ...['--kubeconfig', kubeconfig, '--storage', root],
      ...['--host', '127.0.0.1', '--status-port', `${port}`],
    ],
    { env: plainEnvironment() },
  )
  t.teardown(() => child.kill('SIGKILL'))
  let log = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part: string) => {
      log += part
    })
  const exited = once(child, 'exit')
  const isReady = async () => {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`it ended: ${log}`)
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined)
    return answer?.ok === true
  }
  await until('the archive is ready', isReady).catch((error) => {
    throw new Error(`${error.message}: ${log}`)
  })
  return {
    root,
    peak: () => Number(/VmHWM:\s+(\d+)/.exec(readStatus(child.pid))?.[1]) / 1024,
    async stop() {
      child.kill()
      const [code] = await exited
      const kills = group.kills()
      await group.remove()
      return { code, kills }
    },
  }
}

const readStatus = (pid: number | undefined) => readFileSync(`/proc/${pid}/status`, 'utf8')

/** Lets the honest run go on for some time, and returns the time from its end to its final Run. */
async function runHonestly(world: World): Promise<number> {
  const put = (state: 'running' | 'ended') => {
    for (const pod of PODS) putPod(world, pod, state, 'vitals', [CONTROLLER])
  }
  for (const pod of PODS) world.logs.set(pod, growingLog(LOG.slice(0, LOG.length / 2)))
  put('running')
  await sleep(RUN_MS)
  const begin = performance.now()
  for (const pod of PODS) {
    world.logs.get(pod)?.append(LOG.slice(LOG.length / 2))
    world.logs.get(pod)?.end()
  }
  put('ended')
  await until('the honest run is final', () => {
    const { phase, rows } = statusOf(world, CONTROLLER.name) ?? {}
    return phase === 'Succeeded' && rows !== undefined
  })
  return (performance.now() - begin) / 1000
}

function readRows(root: string): ReadonlyMap<string, string> {
  const paths = globSync('namespace=hpc/**/*.{parquet,gz}', { cwd: root }).toSorted()
  const read = (path: string) => readFileSync(join(root, path))
  return new Map(
    paths.map((path) => [
      path,
      (path.endsWith('.gz') ? gunzipSync(read(path)) : read(path)).toString('latin1'),
    ]),
  )
}

const isStored = (world: World, workload: string) => statusOf(world, workload)?.rows !== undefined

/** Waits until the rows of the tenants are stored, as far as they have an end. */
async function awaitTenants(world: World): Promise<void> {
  const all = ['containers', 'communicators', ...CLOCKS.keys()]
  for (const one of all)
    await until(`${one} is stored`, () => isStored(world, one), { patienceMs: 400_000 })
}

async function measure(t: Test, program: string, isBeside: boolean): Promise<Outcome> {
  const world = await startWorld(t, new Date().toISOString())
  if (isBeside) for (const come of Object.values(TENANTS)) come(world)
  const archive = await startArchive(t, world, program)
  const seconds = await runHonestly(world)
  const [status, rows] = [statusOf(world, CONTROLLER.name), readRows(archive.root)]
  if (isBeside) await awaitTenants(world)
  const peak = archive.peak()
  const { code, kills } = await archive.stop()
  t.strictSame({ code, kills }, { code: 0, kills: 0 }, 'the archive ran until it was stopped')
  t.comment(`${seconds.toFixed(1)} s, ${peak.toFixed(0)} MiB`)
  return { seconds, peak, status, rows }
}

t.test(
  'an honest run beside hostile tenants is whole, and the archive keeps to its memory',
  { skip: reasonToSkipGroups() },
  async (t) => {
    const { program } = await buildForTest(t)
    const [alone, beside]: [Outcome[], Outcome[]] = [[], []]
    for (let turn = 1; turn <= TURNS; turn += 1) {
      await t.test(`the run is stored without other tenants, ${turn}`, async (t) => {
        alone.push(await measure(t, program, false))
      })
      await t.test(`the run is stored beside hostile tenants, ${turn}`, async (t) => {
        beside.push(await measure(t, program, true))
      })
    }
    const [expected] = alone
    for (const { status, rows, peak } of [...alone, ...beside]) {
      t.strictSame(status.rows.logs, { stored: PODS.length, expected: PODS.length })
      t.strictSame(status.rows.missing, expected?.status.rows.missing)
      t.strictSame(
        [...rows],
        [...(expected?.rows ?? [])],
        'the rows are the same as without other tenants',
      )
      t.ok(peak < LIMIT_MIB, `${peak.toFixed(0)} MiB`)
    }
    const [first, second] = [alone, beside].map((outcomes) => {
      return `${median(outcomes.map(({ seconds }) => seconds))?.toFixed(1)} s`
    })
    t.comment(`the Run is final ${first} after the end, and ${second} beside hostile tenants`)
  },
)
