/**
 * Measures `ridealong collect` of the logs of many pods: `npm run bench:collect`. Prints the peak
 * of the resident memory, the time and the throughput of complete runs, and of a run that continues
 * after a killed run. The apiserver is imitated in a process of its own (log-server.ts). Its memory
 * is not part of the result, but it uses the same processors. Needs Linux.
 *
 * RIDEALONG_BENCH_PODS sets the number of pods, and RIDEALONG_BENCH_BYTES the bytes of each log.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { splitLines } from '../../src/lib/split-lines.ts'
import { until } from '../until.ts'

const PODS = Number(process.env.RIDEALONG_BENCH_PODS ?? 1000)
const BYTES = Number(process.env.RIDEALONG_BENCH_BYTES ?? 2 ** 20)
/** The share of the logs after which the first run is killed. */
const KILLED_AFTER = 0.4
/** The default of --parallel. */
const PARALLEL = 8
/** The milliseconds between two readings of the memory. */
const SAMPLE_MS = 20

const [MAIN, SERVER] = ['../../dist/ridealong.cjs', './log-server.ts'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
) as [string, string]

const print = (line: string) => process.stdout.write(`${line}\n`)

interface LogServer {
  /** The number of logs that were sent completely. */
  readonly sent: () => number
  readonly close: () => void
}

async function startServer(kubeconfig: string): Promise<LogServer> {
  const words = [SERVER, `${PODS}`, `${BYTES}`, kubeconfig]
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] })
  let sent = 0
  let isListening = false
  const count = async () => {
    for await (const line of splitLines(child.stdout)) {
      if (line.startsWith('log ')) sent += 1
      else isListening = true
    }
  }
  count()
  await until('the imitated apiserver listens', () => isListening)
  return { sent: () => sent, close: () => child.kill() }
}

/** A run of the command that has ended. */
interface Ended {
  readonly seconds: number
  /** The peak of the resident memory in MiB. */
  readonly peak: number
  readonly said: string
}

/** Starts the command. Standard output is ignored. */
function start(words: readonly string[]): { child: ChildProcess; ended: Promise<Ended> } {
  const child = spawn(process.execPath, [MAIN, 'collect', 'job/lammps', ...words], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const began = performance.now()
  const state = { said: '', peak: 0, isOver: false }
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    state.said += text
  })
  child.once('exit', () => {
    state.isOver = true
  })
  const measure = async (): Promise<Ended> => {
    while (!state.isOver) {
      state.peak = Math.max(state.peak, peakOf(child.pid))
      await sleep(SAMPLE_MS)
    }
    const { said, peak } = state
    return { said, peak, seconds: (performance.now() - began) / 1000 }
  }
  return { child, ended: measure() }
}

/** Returns the peak of the resident memory of a process in MiB; 0 if the process has ended. */
function peakOf(pid: number | undefined): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024
  } catch {
    return 0
  }
}

async function measureRun(what: string, words: readonly string[], server: LogServer) {
  const before = server.sent()
  const { seconds, peak, said } = await start(words).ended
  // The server may still have to report the last logs.
  await sleep(200)
  const sent = server.sent() - before
  const mebibytes = (sent * BYTES) / 2 ** 20
  print(
    `${what}: ${sent} logs in ${seconds.toFixed(1)} s, ` +
      `${(mebibytes / seconds).toFixed(0)} MiB/s of logs, peak memory ${peak.toFixed(0)} MiB`,
  )
  for (const line of said.trimEnd().split('\n').slice(-3)) print(`  ${line}`)
  return sent
}

/** Kills a run after a part of the logs, and measures the run that continues it. */
async function measureRest(words: readonly string[], folder: string, server: LogServer) {
  const { child, ended } = start(words)
  const complete = () => completeIn(folder)
  const share = Math.floor(PODS * KILLED_AFTER)
  await until('a part of the logs is collected', () => complete() >= share)
  child.kill('SIGKILL')
  await once(child, 'exit')
  await ended
  const before = complete()
  const sent = await measureRun('continued after SIGKILL', words, server)
  const expected = PODS - before
  print(`  ${before} files were complete when the first run was killed; ${sent} logs were read now`)
  // Each log that was being read may have been complete, but not yet recorded.
  if (sent < expected || sent > expected + PARALLEL) process.exitCode = 1
}

function completeIn(folder: string): number {
  try {
    return readdirSync(folder).filter((name) => /^[^.].*\.jsonl$/.test(name)).length
  } catch {
    return 0
  }
}

const folder = mkdtempSync(join(tmpdir(), 'ridealong-bench-collect-'))
const kubeconfig = join(folder, 'kubeconfig')
const server = await startServer(kubeconfig)
try {
  const common = ['-n', 'hpc', '--kubeconfig', kubeconfig]
  const mebibytes = (BYTES / 2 ** 20).toFixed(2)
  print(`${PODS} pods with ${mebibytes} MiB of log each, from an imitated apiserver`)
  const [logs, rows] = [join(folder, 'logs/'), join(folder, 'rows/')]
  const file = join(folder, 'run.jsonl')
  await measureRun('logs to a folder', [...common, '-o', 'logs', '--to', logs], server)
  rmSync(logs, { recursive: true })
  await measureRun('jsonl to a file', [...common, '--to', file], server)
  print(`  ${(statSync(file).size / 2 ** 20).toFixed(0)} MiB written`)
  rmSync(file)
  await measureRun('jsonl to standard output', common, server)
  await measureRest([...common, '--to', rows], rows, server)
} finally {
  server.close()
  rmSync(folder, { recursive: true, force: true })
}
