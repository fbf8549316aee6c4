/** Tests on a real Kubernetes: `npm run test:cluster`. */
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Command, Option } from 'commander'
import { type Cluster, down, type Kind, MINORS, type Minor, up } from './cluster.ts'
import {
  APPLICATIONS,
  type Application,
  buildApplication,
  buildTarget,
  DEBIAN_IMAGE,
  IMAGES,
  load,
} from './images.ts'
import { PAUSE_IMAGE } from './node.ts'
import { problemOfPrerequisites } from './prerequisites.ts'
import { type Module, tools } from './tools.ts'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
const say = (line: string) => process.stderr.write(`${line}\n`)

/** Programs that tests use beside Kubernetes and Helm, by the name of the test. */
const PROGRAMS: Readonly<Record<string, readonly Module[]>> = {
  guard: ['cert-manager'],
  install: ['helm-3', 'cert-manager'],
  operator: ['training-operator'],
  removal: ['helm-3'],
  upheaval: ['cert-manager'],
}

/** Applications that tests observe, by the name of the test. */
const OBSERVED: Readonly<Record<string, readonly Application[]>> = { lammps: ['lammps'] }

/** Tests that need no node, and run on an older version too. */
const WITHOUT_NODE = [
  'recordings',
  'record',
  'crds',
  'caches',
  'beside',
  'policies',
  'removal',
  'plugin',
]

const taken: { readonly what: string; readonly seconds: number }[] = []

/** Does a part of the work and remembers how long it took. */
async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const start = performance.now()
  try {
    return await work()
  } finally {
    taken.push({ what, seconds: (performance.now() - start) / 1000 })
  }
}

async function loadImages(cluster: Cluster, applications: readonly Application[]): Promise<void> {
  await buildTarget('webhook', say)
  await buildTarget('observer', say)
  for (const name of applications) await buildApplication(name, say)
  say('handing the images to the node')
  const observed = applications.map((name) => APPLICATIONS[name])
  for (const image of [PAUSE_IMAGE, DEBIAN_IMAGE, ...Object.values(IMAGES), ...observed]) {
    await load(cluster, image)
  }
}

/** The names of the tests: those of their files. */
function everyTest(hasNode: boolean): readonly string[] {
  if (!hasNode) return WITHOUT_NODE
  const files = readdirSync(HERE).filter((name) => name.endsWith('.test.ts'))
  return files.map((name) => name.replace('.test.ts', ''))
}

/** One file after the other: they share a cluster. */
function tap(cluster: Cluster, names: readonly string[]): Promise<boolean> {
  const env = {
    ...process.env,
    KUBECONFIG: cluster.kubeconfig,
    RIDEALONG_TEST_KUBERNETES: /\d+\.\d+/.exec(cluster.version)?.[0],
    RIDEALONG_TEST_NODE: cluster.hasNode ? 'yes' : 'no',
  }
  const files = names.map((name) => `test/cluster/${name}.test.ts`)
  const words = ['run', '--disable-coverage', '--jobs=1', '--timeout=900', ...files]
  const child = spawn('tap', words, { cwd: REPOSITORY, env, stdio: 'inherit' })
  return new Promise((resolve) => {
    child.once('error', () => resolve(false)).once('close', (code) => resolve(code === 0))
  })
}

interface Options {
  readonly kubernetes: Minor
  readonly keep?: boolean
}

/** All of it on a node; on an older version, what needs none. */
async function test(names: readonly string[], { kubernetes, keep }: Options): Promise<boolean> {
  const hasNode = kubernetes === MINORS[0]
  const kind: Kind = { minor: kubernetes, hasNode }
  const known = everyTest(hasNode)
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined) throw new Error(`no test ${unknown}; there are ${known.join(', ')}`)
  const cluster = await timed(`Kubernetes ${kubernetes}`, () => up(kind, say))
  const chosen = names.length === 0 ? known : names
  const programs = new Set<Module>(['helm-4', ...chosen.flatMap((name) => PROGRAMS[name] ?? [])])
  for (const program of programs) await timed(program, () => tools(program, say))
  const applications = chosen.flatMap((name) => OBSERVED[name] ?? [])
  if (hasNode) await timed('images', () => loadImages(cluster, applications))
  const hasPassed = await timed('tests', () => tap(cluster, chosen))
  if (!keep) await timed('end', () => down(kind, say))
  return hasPassed
}

const program = new Command('test:cluster')
  .description('tests on a real Kubernetes, which is started for them and ended')
  .argument(
    '[test...]',
    'tests by name (recordings, workloads, ...); all of them where none is given',
  )
  .addOption(
    new Option('--kubernetes <minor>', 'the version; an older one runs the tests that need no node')
      .choices(MINORS)
      .default(MINORS[0]),
  )
  .option('--keep', 'let the cluster run on, for the next time')
  .addHelpText(
    'after',
    `
Examples:
  $ npm run test:cluster
  $ npm run test:cluster -- --keep recordings
  $ npm run test:cluster -- --kubernetes 1.30`,
  )
  .action(async (names: readonly string[], options: Options) => {
    const problem = await problemOfPrerequisites(options.kubernetes === MINORS[0])
    if (problem !== undefined) {
      say(`${problem}; the tests on a real Kubernetes are skipped`)
      process.exitCode = process.env.CI === 'true' ? 2 : 0
      return
    }
    const hasPassed = await test(names, options)
    for (const { what, seconds } of taken) say(`${seconds.toFixed(0).padStart(5)} s  ${what}`)
    process.exitCode = hasPassed ? 0 : 1
  })

program.parseAsync().catch((error) => {
  say(error instanceof Error ? error.message : String(error))
  process.exitCode = 2
})
