/** `npm run test:cluster` runs the tests on a real Kubernetes. */
import { Command, Option } from 'commander'
import { today } from '../tiers/today.ts'
import { type Ended, findTests, runLane } from './lane.ts'
import {
  type Cluster,
  CONTAINERDS,
  type Containerd,
  down,
  type Kind,
  MINORS,
  type Minor,
  programsOf,
  up,
} from './machine/cluster.ts'
import { type Application, buildAndLoad, type Target } from './machine/images.ts'
import { problemOfOperatorsFolder } from './machine/operators-folder.ts'
import { problemOfPrerequisites } from './machine/prerequisites.ts'
import { type Module, tools } from './machine/tools.ts'

const say = (line: string) => process.stderr.write(`${line}\n`)

/** Programs that tests use in addition to Kubernetes, etcd and Helm 4, by the name of the test. */
const PROGRAMS: Readonly<Record<string, readonly Module[]>> = {
  'all-metrics': ['cert-manager', 'coredns'],
  'archive-rows': ['cert-manager', 'coredns'],
  attempts: ['cert-manager', 'coredns'],
  controllers: ['cert-manager', 'coredns'],
  'cpu-profile': ['cert-manager', 'coredns'],
  defaults: ['cert-manager', 'coredns'],
  guard: ['cert-manager'],
  'image-volumes': ['cert-manager'],
  install: ['helm-3', 'cert-manager'],
  'live-export': ['coredns', 'prometheus'],
  minicluster: ['cert-manager', 'coredns'],
  'mpi-forwarding': ['cert-manager', 'coredns'],
  'mpi-trace': ['cert-manager', 'coredns'],
  'no-progress': ['cert-manager', 'coredns'],
  operator: ['training-operator'],
  'own-certificates': ['cert-manager'],
  removal: ['helm-3'],
  runs: ['cert-manager', 'coredns'],
  upheaval: ['cert-manager'],
}

/** Applications that tests observe, by the name of the test. */
const OBSERVED: Readonly<Record<string, readonly Application[]>> = {
  'all-metrics': ['flux'],
  controllers: ['mpi'],
  'cpu-profile': ['lammps', 'mpi', 'flux'],
  defaults: ['mpi', 'flux'],
  findings: ['lammps'],
  'image-volumes': ['lammps'],
  identities: ['user-1234', 'user-65532'],
  lammps: ['lammps'],
  minicluster: ['flux'],
  'mpi-forwarding': ['mpi'],
  'mpi-trace': ['lammps', 'mpi', 'flux'],
  'no-progress': ['lammps', 'flux'],
  python: ['python'],
  'torch-trace': ['python'],
}

/** Images of tools that tests install into applications, by the name of the test. */
const TOOLS: Readonly<Record<string, readonly Target[]>> = {
  'all-metrics': ['tools'],
  'cpu-profile': ['tools'],
  'image-volumes': ['tools'],
  'mpi-forwarding': ['tools'],
  'mpi-trace': ['tools'],
  'no-progress': ['tools'],
  python: ['tools'],
  stacks: ['tools'],
  'torch-trace': ['tools'],
}

/** Tests that need no node, because their pods are only admitted. */
const WITHOUT_NODE = [...findTests('without-node').keys()]

/** Tests of pods that run. */
const WITH_NODE = [...findTests('with-node').keys()]

const EVERY_TEST: readonly string[] = [...WITHOUT_NODE, ...WITH_NODE]

/**
 * Tests that take minutes, or need cert-manager, CoreDNS, Prometheus or an operator, whose builds
 * take minutes.
 * They run only if they are named, or with --all.
 */
const LONG = [
  'all-metrics',
  'archive-releases',
  'archive-rows',
  'attach-installed',
  'attempts',
  'controllers',
  'cpu-profile',
  'defaults',
  'findings',
  'guard',
  'image-volumes',
  'images',
  'install',
  'lammps',
  'live-export',
  'minicluster',
  'mpi-forwarding',
  'mpi-trace',
  'no-progress',
  'observers',
  'operator',
  'own-certificates',
  'own-renewal',
  'python',
  'revisions',
  'run-time',
  'runs',
  'upheaval',
]

/** The number of days in which --long-by-turns runs each test of `LONG` once. */
const TURNS = 14

/** Tests that need the programs in the folder of machine/operators-folder.ts. */
const WITH_OPERATORS = [
  'all-metrics',
  'attempts',
  'controllers',
  'cpu-profile',
  'defaults',
  'minicluster',
  'mpi-trace',
  'mpi-forwarding',
  'no-progress',
  'runs',
]

/** Tests that need image volumes, which the containerd of this machine may not have. */
const WITH_IMAGE_VOLUMES: readonly string[] = ['image-volumes']

/** Tests with restart policies of ordinary containers, which Kubernetes 1.30 refuses. */
const WITH_RESTART_RULES: readonly string[] = ['attempts', 'run-time']

const taken: { readonly what: string; readonly seconds: number }[] = []

function tell(what: string, seconds: number): void {
  taken.push({ what, seconds })
  say(`${what}: ${seconds.toFixed(0)} s`)
}

/** Runs a step and stores its duration. */
async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const start = performance.now()
  try {
    return await work()
  } finally {
    tell(what, (performance.now() - start) / 1000)
  }
}

/** Builds the images that these tests use, and loads them into the node. */
async function loadImages(cluster: Cluster, names: readonly string[]): Promise<void> {
  const targets: readonly Target[] = [
    'webhook',
    'observer',
    ...names.flatMap((name) => TOOLS[name] ?? []),
  ]
  const applications = names.flatMap((name) => OBSERVED[name] ?? [])
  await buildAndLoad(cluster, { targets, applications }, say)
}

/** Prints the result of a test, and the output only if it failed. */
function onEnd({ name, hasPassed, seconds, output }: Ended): void {
  tell(`${hasPassed ? 'ok' : 'not ok'} ${name}, ${checksIn(output)} checks`, seconds)
  if (!hasPassed) process.stdout.write(output)
}

/** Counts the checks in TAP, without the lines that sum up subtests. */
function checksIn(tap: string): number {
  return tap.split('\n').filter((line) => /^ *(not )?ok \d+(?!.* \{$)/.test(line)).length
}

interface Options {
  readonly kubernetes: Minor
  readonly containerd: Containerd
  readonly keep?: boolean
  readonly onlyBuild?: boolean
  readonly all?: boolean
  readonly longByTurns?: boolean
}

/** Starts a cluster, runs tests on it, and ends it unless `keep` is set. */
async function testOn(kind: Kind, names: readonly string[], { keep }: Options): Promise<boolean> {
  const what = `a cluster ${kind.hasNode ? 'with' : 'without'} a node`
  const cluster = await timed(`start ${what}`, () => up(kind, say))
  if (kind.hasNode) await timed('load the images', () => loadImages(cluster, names))
  const hasPassed = await runLane(cluster, names, onEnd)
  if (!keep) await timed(`end ${what}`, () => down(kind, say))
  return hasPassed
}

/**
 * Runs the tests in two lanes. Tests without a node have their own control plane, beside the
 * cluster with a node. The lanes run at the same time, because each lane waits most of the time.
 */
async function test(names: readonly string[], options: Options): Promise<boolean> {
  const { kubernetes: minor, containerd } = options
  const unknown = names.find((name) => !EVERY_TEST.includes(name))
  if (unknown !== undefined)
    throw new Error(`no test ${unknown}; there are ${EVERY_TEST.join(', ')}`)
  const turn = options.longByTurns ? today() % TURNS : undefined
  const due = LONG.filter((_, index) => options.all || index % TURNS === turn)
  const usual = EVERY_TEST.filter((name) => due.includes(name) || !LONG.includes(name))
  const able = withoutUnable(names.length === 0 ? usual : names, options)
  const { chosen, isWhole } = withoutOperators(able, options)
  if (chosen.length === 0) return isWhole
  await timed(`build Kubernetes ${minor}`, () => programsOf(minor, say))
  for (const module of modulesOf(chosen)) await timed(`build ${module}`, () => tools(module, say))
  if (options.onlyBuild) return isWhole
  const lanes = [true, false].map((hasNode) => ({
    kind: { minor, hasNode, containerd },
    names: chosen.filter((name) => needsNode(name) === hasNode),
  }))
  const ends = await Promise.all(
    lanes
      .filter((lane) => lane.names.length > 0)
      .map((lane) => testOn(lane.kind, lane.names, options)),
  )
  return isWhole && ends.every((hasPassed) => hasPassed)
}

/** Skips the tests that this containerd or this Kubernetes cannot run. */
function withoutUnable(names: readonly string[], { kubernetes, containerd }: Options) {
  const skipped: Readonly<Record<string, readonly string[]>> = {
    'without --containerd 2': containerd === '2' ? [] : WITH_IMAGE_VOLUMES,
    'with Kubernetes 1.30': kubernetes === '1.30' ? WITH_RESTART_RULES : [],
  }
  return Object.entries(skipped).reduce((able, [reason, unable]) => {
    const concerned = able.filter((name) => unable.includes(name))
    if (concerned.length > 0) say(`skipped ${reason}: ${concerned.join(', ')}`)
    return able.filter((name) => !concerned.includes(name))
  }, names)
}

/**
 * Skips the tests in WITH_OPERATORS if programs are missing in the folder of
 * machine/operators-folder.ts. With CI=true, the run then fails, unless the date chose the tests:
 * otherwise CI would fail on some days only.
 */
function withoutOperators(names: readonly string[], { longByTurns = false }: Options) {
  const concerned = names.filter((name) => WITH_OPERATORS.includes(name))
  const problem = concerned.length === 0 ? undefined : problemOfOperatorsFolder()
  if (problem === undefined) return { chosen: names, isWhole: true }
  const page = 'docs/contributing/controllers.md'
  say(`${problem}; skipped until you build them (see ${page}): ${concerned.join(', ')}`)
  const chosen = names.filter((name) => !concerned.includes(name))
  return { chosen, isWhole: longByTurns || process.env.CI !== 'true' }
}

function needsNode(name: string): boolean {
  return !WITHOUT_NODE.includes(name)
}

function modulesOf(names: readonly string[]): ReadonlySet<Module> {
  return new Set<Module>(['etcd', 'helm-4', ...names.flatMap((name) => PROGRAMS[name] ?? [])])
}

const program = new Command('test:cluster')
  .description('start a real Kubernetes, run tests on it, and end it')
  .argument(
    '[test...]',
    'the tests to run (recordings, workloads, ...); by default, all tests of at most a minute',
  )
  .option('--long-by-turns', `also run one of ${TURNS} parts of the longer tests, by the date`)
  .option('--all', `also run the tests that take longer: ${LONG.join(', ')}`)
  .addOption(
    new Option('--kubernetes <minor>', 'the version of Kubernetes')
      .choices(MINORS)
      .default(MINORS[0]),
  )
  .addOption(
    new Option('--containerd <version>', "this machine's, or version 2, which has image volumes")
      .choices(CONTAINERDS)
      .default(CONTAINERDS[0]),
  )
  .option('--keep', 'keep the cluster for the next run')
  .option('--only-build', 'compile Kubernetes and the other programs, and run no test')
  .addHelpText(
    'after',
    `
Examples:
  $ npm run test:cluster
  $ npm run test:cluster -- --all
  $ npm run test:cluster -- --keep recordings
  $ npm run test:cluster -- --kubernetes 1.30 --all
  $ npm run test:cluster -- --containerd 2 image-volumes`,
  )
  .action(async (names: readonly string[], options: Options) => {
    const withNode = names.length === 0 || names.some(needsNode)
    const problem = await problemOfPrerequisites(withNode)
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
