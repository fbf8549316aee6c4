/**
 * Measures what `ridealong top` costs while it shows a large run: `npm run bench:top`. The
 * measurement takes two minutes and needs Linux. The apiserver is imitated in this process, and its
 * cost is not part of the result. Each pod has a log of perf-sysstat with the rows of a recorded
 * log, and in some of the measurements a log of pressure.
 */
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { makeAuthority } from '../../certs/make.ts'
import { pod } from '../src/runs/collect/pod.ts'
import { type GrowingLog, growingLog } from '../stand-ins/growing-log.ts'
import { until } from '../until.ts'

const PODS = Number(process.env.RIDEALONG_BENCH_PODS ?? 1000)
const SECONDS = 20

/** The clock ticks per second in /proc/PID/stat (USER_HZ), which is 100 on all Linux machines. */
const TICKS = 100

const MAIN = fileURLToPath(new URL('../../cli/main.ts', import.meta.url))
const LOG = new URL('../logs/perf-sysstat-ridealong.log', import.meta.url)
const MARKER = 'METRICS OPERATOR TIMEPOINT\n'

const print = (line: string) => process.stdout.write(`${line}\n`)

const head = (
  metric: string,
) => `METADATA START {"metricName":"${metric}","metricOptions":{"rate":1}}
METADATA END
METRICS OPERATOR COLLECTION START
`

/** Returns the rows of pressure for a container with three processes. */
function pressureRows(second: number): string {
  const time = new Date().toISOString()
  const container = { time, section: 'container', container: 'app', throttled: second / 10 }
  const processes = [6, 7, 10].map((pid) => {
    const [run_delay, cpu_time] = [second * Math.random(), second / 2]
    return { time, section: 'process', container: 'app', program: 'lmp', pid, run_delay, cpu_time }
  })
  return [container, ...processes].map((row) => `${JSON.stringify(row)}\n`).join('')
}

interface Shape {
  readonly metrics: readonly ('perf-sysstat' | 'pressure')[]
  /** Seconds between two timepoints. */
  readonly rate: number
}

/** Imitates an apiserver with the pods and the logs of a run, and returns its address. */
async function serve(logs: ReadonlyMap<string, GrowingLog>, metrics: readonly string[]) {
  const authority = await makeAuthority()
  const server = createServer(
    await authority.issue({ names: ['127.0.0.1'] }),
    (request, response) => {
      const url = new URL(request.url ?? '', 'https://127.0.0.1')
      const [, , , , , kind, name, sub] = url.pathname.split('/')
      if (kind !== 'pods') return response.writeHead(404).end('{}')
      const log = logs.get(`${name}/${url.searchParams.get('container')}`)
      if (sub === 'log' && log !== undefined) return log.answer(response, url.searchParams)
      const shape = { metrics, phase: 'Running', state: { running: {} } }
      const items = Array.from({ length: PODS }, (_, index) => pod({ index, ...shape }))
      return response.end(JSON.stringify({ kind: 'PodList', items }))
    },
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const ca = Buffer.from(authority.ca).toString('base64')
  const kubeconfig = JSON.stringify({
    clusters: [
      {
        name: 'c',
        cluster: { server: `https://127.0.0.1:${port}`, 'certificate-authority-data': ca },
      },
    ],
    users: [{ name: 'u', user: { token: 't' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: 'hpc' } }],
    'current-context': 'x',
  })
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { kubeconfig, close }
}

/** Starts `top` in a terminal of 200 columns and 50 rows, and counts what it writes. */
function startTop(folder: string) {
  const words = [process.execPath, MAIN, 'top', 'job/lammps', '--kubeconfig', `${folder}/config`]
  const quoted = words.map((word) => `'${word}'`).join(' ')
  const command = `stty rows 50 cols 200; echo $$ > '${folder}/pid'; exec ${quoted}`
  const child = spawn('script', ['-qefc', command, '/dev/null'])
  const written = { text: '', bytes: 0 }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    written.bytes += text.length
    written.text = `${written.text}${text}`.slice(-20_000)
  })
  return { child, written }
}

/** Returns the CPU seconds and the resident memory in MiB of a process. */
async function usageOf(pid: number): Promise<{ readonly cpu: number; readonly memory: number }> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return {
    cpu: (Number(fields[11]) + Number(fields[12])) / TICKS,
    memory: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024,
  }
}

/** Measures `top` for SECONDS. `cpuBefore` are the CPU seconds that it used before. */
async function measureUsage(pid: number, written: { readonly bytes: number }) {
  await sleep(3000)
  const [before, bytes, began] = [await usageOf(pid), written.bytes, performance.now()]
  await sleep(SECONDS * 1000)
  const [after, passed] = [await usageOf(pid), (performance.now() - began) / 1000]
  const share = ((after.cpu - before.cpu) / passed) * 100
  const usage =
    `${share.toFixed(1)} % of a core, ${after.memory.toFixed(0)} MiB, ` +
    `${((written.bytes - bytes) / passed / 1024).toFixed(1)} KiB/s to the terminal`
  return { usage, cpuBefore: before.cpu }
}

/** Returns the rows of the timepoints of a recorded log. */
async function readTimepoints(): Promise<readonly string[]> {
  const recorded = await readFile(LOG, 'utf8')
  const [, ...timepoints] =
    recorded.split('METRICS OPERATOR COLLECTION END')[0]?.split(MARKER) ?? []
  return timepoints
}

/** Appends a timepoint to each log every `rate` seconds, until the returned function is called. */
function writeLogs(
  logs: ReadonlyMap<string, GrowingLog>,
  rate: number,
  timepoints: readonly string[],
): () => void {
  let second = 0
  const textOf = (metric: string) =>
    metric === 'pressure'
      ? pressureRows(second)
      : `${MARKER}${timepoints[second % timepoints.length]}`
  // As in a real run, the pods do not write at the same moment.
  const timers = [...logs].map(([name, log], index) =>
    setTimeout(
      () => {
        const append = () => log.append(textOf(name.slice(name.indexOf('/') + 1)))
        append()
        timers.push(setInterval(append, rate * 1000))
      },
      (index / logs.size) * rate * 1000,
    ),
  )
  timers.push(setInterval(() => (second += 1), 1000))
  return () => {
    for (const timer of timers) clearInterval(timer)
  }
}

async function measure({ metrics, rate }: Shape): Promise<void> {
  const names = Array.from({ length: PODS }, (_, index) => `lammps-${index}-abcde`)
  const logs = new Map(
    names.flatMap((name) =>
      metrics.map((metric) => [`${name}/${metric}`, growingLog(head(metric))] as const),
    ),
  )
  const { kubeconfig, close } = await serve(logs, metrics)
  const folder = await mkdtemp(join(tmpdir(), 'ridealong-top-'))
  await writeFile(join(folder, 'config'), kubeconfig)
  const stopWriting = writeLogs(logs, rate, await readTimepoints())
  const { child, written } = startTop(folder)
  const start = performance.now()
  try {
    await until('all pods have rows', () => written.text.includes(`${PODS} running`), {
      patienceMs: 600_000,
    })
    const readySeconds = (performance.now() - start) / 1000
    const pid = Number(await readFile(join(folder, 'pid'), 'utf8'))
    const { usage, cpuBefore } = await measureUsage(pid, written)
    print(
      `${PODS} pods, ${metrics.join(' and ')}, a timepoint every ${rate} s: ${usage}; ` +
        `all pods shown after ${readySeconds.toFixed(1)} s, ${cpuBefore.toFixed(1)} CPU seconds`,
    )
  } finally {
    stopWriting()
    child.stdin.write('q')
    await sleep(500)
    child.kill()
    close()
    await rm(folder, { recursive: true })
  }
}

await measure({ metrics: ['perf-sysstat'], rate: 10 })
await measure({ metrics: ['perf-sysstat'], rate: 1 })
await measure({ metrics: ['perf-sysstat', 'pressure'], rate: 1 })
process.exit()
