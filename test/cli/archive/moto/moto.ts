import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { RUN_FILE } from '../../../../cli/archive/storage/run-folders.ts'
import { growingLog } from '../../../stand-ins/growing-log.ts'
import { until } from '../../../until.ts'
import { recordedLog } from '../observers.ts'
import { pathOf, putPod, statusOf, type World } from '../world.ts'
import { compareCommands } from './commands.ts'
import {
  type Objects,
  type Place,
  type RunningArchive,
  readObjects,
  readVolume,
  startArchive,
  startPlace,
} from './place.ts'
import type { Fault } from './proxy.ts'

// The process `ridealong archive` with a bucket of moto, which verifies signatures and rights,
// behind a proxy that fails. `npm run test:bucket` runs this file, and npm test does not: moto is
// installed from PyPI, and the archive starts about 40 times. With BUCKET_PORT, AWS_ACCESS_KEY_ID
// and AWS_SECRET_ACCESS_KEY, the service is one that runs at this port already, such as MinIO, and
// has an empty bucket `rows`.

const LOG = recordedLog('lammps-0.vitals')

function putEndedPod(world: World, name: string): void {
  const log = growingLog(LOG)
  log.end()
  world.logs.set(name, log)
  putPod(world, name, 'ended')
}

const hasRows = (world: World, pod: string) => statusOf(world, pod)?.rows !== undefined

async function awaitStored({ world, folder }: Place, pod: string): Promise<void> {
  await until(`the rows of ${pod} are stored`, () => hasRows(world, pod))
  const logs = join(folder, 'bucket/.logs')
  await until('no log is left', () => !existsSync(logs) || readdirSync(logs).length === 0)
}

const isOfRun = (path: string) => path.includes('/run=')

/** Returns the problems of objects that an archive has left, compared with the final ones. */
function findProblems(left: Objects, final: Objects): readonly string[] {
  const problems = [...left].filter(([path, content]) => !isWhole(path, content, final))
  const folders = [...left.keys()].filter(isRunFile).map((path) => path.slice(0, -RUN_FILE.length))
  const missing = [...final.keys()].filter((path) => {
    return !left.has(path) && folders.some((folder) => path.startsWith(folder))
  })
  return [...problems.map(([path]) => `${path} is not whole`), ...missing]
}

const isRunFile = (path: string) => path.endsWith(`/${RUN_FILE}`)

/** Reports whether an object of a run is the final one, and whether another one is whole. */
function isWhole(path: string, content: string, final: Objects): boolean {
  if (isOfRun(path)) return final.get(path) === content
  if (path.endsWith('.html')) return content.trimEnd().endsWith('</html>')
  return Array.isArray(JSON.parse(content).runs)
}

/** Kills an archive when the service has answered a number of requests, and starts another one. */
async function killAndGoOn(place: Place, step: number): Promise<Objects | undefined> {
  const { world, proxy } = place
  const pod = `killed-${step}`
  putEndedPod(world, pod)
  let [answers, isKilled] = [0, false]
  const killed = await startArchive(place, 'bucket')
  proxy.onAnswer = () => {
    answers += 1
    if (answers !== step) return
    isKilled = true
    killed.child.kill('SIGKILL')
  }
  await until('the archive is killed, or has stored the run', async () => {
    await sleep(50)
    return isKilled || hasRows(world, pod)
  })
  proxy.onAnswer = () => {}
  if (!isKilled) {
    await awaitStored(place, pod)
    await killed.stop()
    return undefined
  }
  await killed.exited
  const left = await readObjects(place)
  const next = await startArchive(place, 'bucket')
  await awaitStored(place, pod)
  await next.stop()
  return left
}

const FAULTS: readonly Fault[] = ['busy', 'cut', 'broken-body', 'slow']

/** Stores runs while the bucket fails. Returns their pods. */
async function storeInFaults(t: Test, place: Place): Promise<readonly string[]> {
  const { world, proxy } = place
  const archive = await startArchive(place, 'bucket')
  for (const fault of FAULTS) {
    proxy.fault = fault
    putEndedPod(world, fault)
    await awaitStored(place, fault)
    t.comment(`${fault}: ${proxy.answered.length} requests were answered`)
  }
  proxy.fault = 'none'
  const away = [0, 3, 6].map((answers) => `away-after-${answers}`)
  for (const pod of away) {
    await storeAfterAbsence(place, archive, pod)
    t.pass(pod)
  }
  await archive.stop()
  return [...FAULTS, ...away]
}

/** Lets the service disappear after a number of answers, and later come back. */
async function storeAfterAbsence(
  place: Place,
  archive: RunningArchive,
  pod: string,
): Promise<void> {
  const { world, proxy } = place
  const last = Number(pod.split('-').at(-1))
  let answers = 0
  proxy.onAnswer = () => {
    answers += 1
    if (answers === last) proxy.vanish()
  }
  if (last === 0) await proxy.vanish()
  putEndedPod(world, pod)
  const reason = new RegExp(`the rows of the Run ${pod}-.*(ECONN|hang up)`)
  await until('the archive says why', () => reason.test(archive.log()))
  if (hasRows(world, pod)) throw new Error(`${pod} has rows, and there is no bucket`)
  proxy.onAnswer = () => {}
  await proxy.comeBack()
  await awaitStored(place, pod)
}

/** Kills archives after each number of requests. Returns the pods, and the objects left behind. */
async function storeWhileKilled(place: Place) {
  const left: Objects[] = []
  for (let step = 1; ; step += 1) {
    const found = await killAndGoOn(place, step)
    if (found === undefined) {
      const pods = Array.from({ length: step }, (_, index) => `killed-${index + 1}`)
      return { left, pods }
    }
    left.push(found)
  }
}

/** Stores the same runs on a volume. Their Runs must not say that they are stored. */
async function storeOnVolume(place: Place, pods: readonly string[]): Promise<Objects> {
  const { world } = place
  for (const { metadata } of world.standIn.all('runs'))
    world.standIn.remove('runs', metadata.name, metadata.namespace)
  const archive = await startArchive(place, 'volume')
  for (const pod of pods) await until(`${pod} is stored`, () => hasRows(world, pod))
  await archive.stop()
  return readVolume(place)
}

const ofRuns = (files: Objects) => [...files].filter(([path]) => isOfRun(path)).sort()

t.setTimeout(1_800_000)

t.test(
  'each run is in the bucket once and whole, whenever the bucket fails or the archive is killed',
  async (t) => {
    const place = await startPlace(t)
    if (typeof place === 'string') return t.pass(place, { skip: true })
    const inFaults = await storeInFaults(t, place)
    const { left, pods } = await storeWhileKilled(place)
    t.ok(left.length > 15, `${left.length} archives were killed`)
    const final = await readObjects(place)
    const problems = left.flatMap((objects) => findProblems(objects, final))
    t.strictSame(problems, [], 'no part of an object or a run was visible')
    const stored = [...inFaults, ...pods]
    const expected = stored.map((pod) => `${pathOf(pod)}/${RUN_FILE}`).sort()
    t.strictSame([...final.keys()].filter(isRunFile).sort(), expected, 'each run is there once')
    const volume = await storeOnVolume(place, stored)
    t.strictSame(ofRuns(final), ofRuns(volume), 'the files are those of a volume')
    await compareCommands(t, place, ['busy', 'cut'])
  },
)
