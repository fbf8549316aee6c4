import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeAuthority, writeKeyPair } from '../../certs/make.ts'
import { readRecording } from '../../cli/shared/recording.ts'
import { buildReviewer } from '../../cli/shared/settings.ts'
import { freePort } from '../free-ports.ts'
import { median } from './handler.ts'
import { benchHostile, writeRules } from './hostile.ts'
import { load } from './load.ts'

/**
 * The number of connections that the apiserver keeps open to a webhook (client-go transport: idle
 * connections per host).
 */
const CONNECTIONS = 25
const TURNS = 5
const WARM_UP_SECONDS = 10
const TURN_SECONDS = 4

const OURS = fileURLToPath(new URL('../../dist/ridealong.cjs', import.meta.url))
const FLOOR = fileURLToPath(new URL('floor.ts', import.meta.url))

/** A server to compare. */
export interface Contender {
  readonly name: string
  readonly port: number
  readonly process: ChildProcess
}

/**
 * Prints the reviews per second over HTTPS for Ridealong and for the bare server, in alternating
 * turns of one run. Both servers run on the first core if taskset is installed. This process, the
 * client, may use all cores.
 *
 * @param path a recorded AdmissionReview whose pod requests observers
 * @param namespaces the file with the Namespaces of this pod
 */
export async function benchServer(
  path: string,
  namespaces: string,
  print: (line: string) => void,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'ridealong-bench-'))
  const authority = await makeAuthority()
  await writeKeyPair(folder, authority, { names: ['localhost'] })
  const contenders: Contender[] = []
  try {
    const answer = await buildReviewer({ namespaces })
    const { response } = answer(await readRecording(path))
    await writeFile(join(folder, 'answer.json'), JSON.stringify(response))
    contenders.push(await startFloor(folder), await startOurs(folder, namespaces))
    const body = JSON.stringify(JSON.parse(await readFile(path, 'utf8')))
    await compare(contenders, { ca: authority.ca, body }, print)
  } finally {
    for (const { process: child } of contenders) child.kill('SIGKILL')
    await rm(folder, { recursive: true })
  }
}

async function compare(
  contenders: readonly Contender[],
  { ca, body }: { readonly ca: string; readonly body: string },
  print: (line: string) => void,
): Promise<void> {
  const turn = async ({ port, process: child }: Contender, seconds: number) => {
    const before = await processorSeconds(child.pid)
    const call = {
      port,
      ca,
      body,
      connections: CONNECTIONS,
      seconds,
      path: '/mutate/pods?timeout=3s',
    }
    const { answers, perSecond, refused } = await load(call)
    if (refused > 0) throw new Error(`${refused} reviews were refused`)
    const used = (await processorSeconds(child.pid)) - before
    return { perSecond, microseconds: (used / answers) * 1e6, busy: used / seconds }
  }
  for (const contender of contenders) await turn(contender, WARM_UP_SECONDS)
  print('turn  floor /s  us each  busy  ours /s  us each  busy  ratio')
  const ratios: number[] = []
  for (let i = 1; i <= TURNS; i += 1) {
    const results = []
    for (const contender of contenders) results.push(await turn(contender, TURN_SECONDS))
    const [floor, ours] = results
    if (floor === undefined || ours === undefined) throw new Error('a server is missing')
    const ratio = ours.perSecond / floor.perSecond
    ratios.push(ratio)
    const cells = [floor, ours].flatMap(({ perSecond, microseconds, busy }) => [
      perSecond.toFixed(0).padStart(8),
      microseconds.toFixed(0).padStart(7),
      `${(busy * 100).toFixed(0)}%`.padStart(4),
    ])
    print(`${`${i}`.padStart(4)}  ${cells.join('  ')}  ${ratio.toFixed(3)}`)
  }
  print(`median ratio ${median(ratios).toFixed(3)}`)
}

async function startFloor(folder: string): Promise<Contender> {
  const port = await freePort()
  const files = ['tls.crt', 'tls.key', 'answer.json'].map((name) => join(folder, name))
  return started('floor', port, [FLOOR, `${port}`, ...files])
}

/**
 * Prints the times of hostile reviews on Ridealong's server, which runs in a separate process.
 *
 * @param ordinary the path of a recorded AdmissionReview that is sent in parallel
 * @returns the number of rows that exceed a bound
 */
export async function benchHostileServer(
  ordinary: string,
  print: (line: string) => void,
): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'ridealong-bench-'))
  const authority = await makeAuthority()
  await writeKeyPair(folder, authority, { names: ['localhost'] })
  const contenders: Contender[] = []
  try {
    const ours = await startOurs(folder, await writeRules(folder))
    contenders.push(ours)
    return await benchHostile(ours, authority.ca, ordinary, print)
  } finally {
    for (const { process: child } of contenders) child.kill('SIGKILL')
    await rm(folder, { recursive: true })
  }
}

async function startOurs(folder: string, namespaces: string): Promise<Contender> {
  const [port, statusPort] = [await freePort(), await freePort()]
  const ports = ['--port', `${port}`, '--status-port', `${statusPort}`, '--host', '127.0.0.1']
  const files = ['--cert', join(folder, 'tls.crt'), '--key', join(folder, 'tls.key')]
  return started('ours', port, [OURS, 'serve', ...ports, ...files, '--namespaces', namespaces])
}

async function started(name: string, port: number, command: readonly string[]): Promise<Contender> {
  const [program, ...words] = [...pin('0'), process.execPath, ...command]
  const child = spawn(program ?? '', words, { stdio: ['ignore', 'ignore', 'inherit'] })
  for (let tries = 0; tries < 200; tries += 1) {
    if (await answers(port)) return { name, port, process: child }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`${name} does not listen`)
}

/** Returns the words that bind a command to some cores. Without taskset, the list is empty. */
function pin(cores: string): string[] {
  try {
    execFileSync('taskset', ['-c', cores, 'true'], { stdio: 'ignore' })
    return ['taskset', '-c', cores]
  } catch {
    return []
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('error', () => resolve(false))
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
  })
}

/**
 * Returns the processor time of all threads of a process in seconds; 0 if the system does not
 * report it.
 */
async function processorSeconds(pid: number | undefined): Promise<number> {
  const tasks = await readdir(`/proc/${pid}/task`).catch(() => [])
  const used = tasks.map(async (task) => {
    const statistics = await readFile(`/proc/${pid}/task/${task}/schedstat`, 'utf8')
    return Number(statistics.split(' ')[0]) / 1e9
  })
  return (await Promise.all(used)).reduce((sum, seconds) => sum + seconds, 0)
}
