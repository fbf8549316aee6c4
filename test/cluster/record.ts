/** `npm run record` records new cases from a real Kubernetes. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { parseAllDocuments } from 'yaml'
import { type Cluster, down, find, type Kind, MINORS, up } from './machine/cluster.ts'
import { kubectl } from './machine/kubectl.ts'
import { problemOfPrerequisites } from './machine/prerequisites.ts'
import { type RunningRecorder, startRecorder } from './recorder.ts'
import { until } from './until.ts'

const TEST = fileURLToPath(new URL('..', import.meta.url))
const say = (line: string) => process.stderr.write(`${line}\n`)

/**
 * The recording ends QUIET_MS after the last pod. With a CronJob, the recording lasts at least
 * CRON_MS, because the first pod is created within a minute.
 */
const QUIET_MS = 5_000
const CRON_MS = 65_000

/** The fields that this program reads, of an object of any kind. */
interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
}

function readManifests(files: readonly string[], namespace: string): readonly Manifest[] {
  const documents = files.flatMap((file) => parseAllDocuments(readFileSync(file, 'utf8')))
  const manifests = documents.map((document) => document.toJS()).filter((value) => value !== null)
  return manifests.map((manifest: Manifest) => {
    return manifest.kind === 'Namespace'
      ? manifest
      : { ...manifest, metadata: { namespace, ...manifest.metadata } }
  })
}

/** Returns the namespaces of the objects, including namespaces that have no manifest. */
function namespacesOf(manifests: readonly Manifest[]): readonly Manifest[] {
  const described = manifests.filter(({ kind }) => kind === 'Namespace')
  const names = new Set(manifests.flatMap(({ metadata }) => metadata.namespace ?? []))
  for (const { metadata } of described) names.delete(metadata.name)
  const plain = [...names].map((name) => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name },
  }))
  return [...described, ...plain]
}

/**
 * Checks that no namespace of these names exists, because the recording deletes them.
 *
 * @throws an error with the names of the namespaces that already exist
 */
async function mustBeNew(cluster: Cluster, names: readonly string[]): Promise<void> {
  const words = ['get', 'namespaces', '--ignore-not-found', '-o', 'name', ...names]
  const there = (await kubectl(cluster, words)).trim().split('\n').join(', ')
  if (there !== '')
    throw new Error(`${there} already exists; record in namespaces that do not exist yet`)
}

function create(cluster: Cluster, items: readonly Manifest[]): Promise<string> {
  const list = { apiVersion: 'v1', kind: 'List', items }
  return kubectl(cluster, ['create', '-f', '-'], JSON.stringify(list))
}

/**
 * Waits until the recorder has printed nothing for QUIET_MS, and at least for `leastMs`, or until
 * it has ended.
 */
async function untilQuiet(recorder: RunningRecorder, leastMs: number): Promise<void> {
  const start = performance.now()
  let [seen, since] = ['', start]
  for (;;) {
    const now = performance.now()
    if (recorder.text() !== seen) [seen, since] = [recorder.text(), now]
    const isQuiet = now - since > QUIET_MS && now - start > leastMs
    if (isQuiet || recorder.child.exitCode !== null) return
    await sleep(200)
  }
}

/** Records the pods that are created from manifests, and then deletes their namespaces. */
async function record(
  cluster: Cluster,
  manifests: readonly Manifest[],
  into: string,
): Promise<boolean> {
  const namespaces = namespacesOf(manifests)
  const names = namespaces.map(({ metadata }) => metadata.name)
  await mustBeNew(cluster, names)
  // An interrupt ends the recorder. This program continues, because it must delete the namespaces.
  process.on('SIGINT', () => {})
  try {
    await create(cluster, namespaces)
    for (const name of names) {
      const account = ['get', 'serviceaccount', 'default', '-n', name]
      await until(`namespace ${name} is ready`, () =>
        kubectl(cluster, account).then(
          () => true,
          () => false,
        ),
      )
    }
    const recorder = await startRecorder(cluster, into, ['--namespace', ...names])
    recorder.child.stdout?.pipe(process.stdout)
    recorder.child.stderr?.pipe(process.stderr)
    try {
      await recorder.ready
      const others = manifests.filter(({ kind }) => kind !== 'Namespace')
      await create(cluster, others)
      await untilQuiet(recorder, others.some(({ kind }) => kind === 'CronJob') ? CRON_MS : 0)
    } finally {
      recorder.child.kill('SIGINT')
    }
    return (await recorder.ended) === 0
  } finally {
    await kubectl(cluster, ['delete', 'namespaces', ...names, '--wait=false', '--ignore-not-found'])
  }
}

/**
 * The kinds of clusters, in the order of preference: the cluster of the tests, then a cluster
 * without a node. If neither runs, the command starts a cluster without a node for this recording.
 */
const WITH_NODE: Kind = { minor: MINORS[0], hasNode: true }
const PLANE: Kind = { minor: MINORS[0], hasNode: false }

const program = new Command('record')
  .description('record the pods that a real Kubernetes creates from manifests, as new cases')
  .argument('[manifest...]', 'YAML files', [join(TEST, 'workloads', 'core.yaml')])
  .option('--into <dir>', 'the folder of cases; existing cases stay', join(TEST, 'cases'))
  .option('--namespace <name>', 'the namespace of objects that name none', 'recorded')
  .addHelpText(
    'after',
    `
Examples:
  $ npm run record
  $ npm run record -- my-job.yaml --into test/cases`,
  )
  .action(async (files: readonly string[], { into, namespace }) => {
    const manifests = readManifests(files, namespace)
    const found = (await find(WITH_NODE)) ?? (await find(PLANE))
    const problem = found === undefined ? await problemOfPrerequisites(false) : undefined
    if (problem !== undefined) throw new Error(problem)
    const cluster = found ?? (await up(PLANE, say))
    try {
      process.exitCode = (await record(cluster, manifests, into)) ? 0 : 1
    } finally {
      if (found === undefined) await down(PLANE, say)
    }
  })

program.parseAsync().catch((error) => {
  say(error instanceof Error ? error.message : String(error))
  process.exitCode = 2
})
