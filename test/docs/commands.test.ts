import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { CASE_NAMESPACES, caseFolder } from '../cases/read.ts'
import { run } from '../cli/command.ts'
import { buildForTest } from '../release/built/build-for-test.ts'
import { collected, endedWith } from '../src/runs/log/collected.ts'
import { PAGES, REPOSITORY, textOf } from './pages.ts'

// Tests of the commands in the documents. Commands that need no cluster run unchanged, in a folder
// with the files that they name. Commands that need a cluster must be accepted, and fail only
// because there is no cluster.

/** The logs of one run. */
const LOGS = ['vitals', 'cpu-profile'].map((metric) =>
  join(REPOSITORY, `test/logs/all-metrics/lammps-0.${metric}.log`),
)
/** The names of runs that the documents compare. */
const COMPARED = ['before', 'after'].flatMap((name) => [
  name,
  ...[1, 2, 3, 4, 5].map((number) => `${name}-${number}`),
])
/** The runs of the archive that the documents name, by their folders. */
const STORED = ['hpc/lammps-e37d7975', 'ml/train-0b1f2c44', 'ml/train-9c2d01aa'].map((name) =>
  name.replace(/(.*)\/(.*)/, 'rows/namespace=$1/date=2026-11-26/run=$2'),
)
/** The command as users install it, which starts faster than its sources. */
const { program: COMMAND } = await buildForTest(t)
const EXAMPLES = join(REPOSITORY, 'docs/examples')

/**
 * Returns the commands in a page's console blocks. A command is a line after `$ `, with the lines
 * that continue it after a backslash.
 */
function commandsIn(page: string): string[] {
  const blocks = [...textOf(page).matchAll(/^```console\n(.*?)^```$/gms)].map(([, text]) => text)
  return blocks.flatMap((block = '') =>
    [...block.matchAll(/^\$ ((?:.*\\\n)*.*)$/gm)].map(([, command = '']) => command),
  )
}

/** Returns the commands in a page's code spans. */
function spansIn(page: string): string[] {
  const prose = textOf(page).replaceAll(/^```.*?^```$/gms, '')
  const spans = [...prose.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span.replaceAll('\n', ' '))
  return spans.filter((span) => /^(ridealong|npm) /.test(span))
}

/** Commands of npm itself, which are not scripts in package.json. */
const NPM_ITSELF = ['ci', 'link', 'rebuild', 'install', 'audit', 'version']

/** The prefix of a command in a clone of the repository, in which no command is installed. */
const IN_CLONE = /^npm run ridealong -- /

const isOurs = (command: string) => /^(kubectl )?ridealong /.test(command)

/** A workload of the cluster, in a command. */
const WORKLOAD = / (job|minicluster|jobset)[/ ][a-z]/

/** Tells whether a command needs a cluster. Verbs that also read files need one only without. */
function needsCluster(command: string): boolean {
  const verb = command.replace(/^(kubectl )?ridealong /, '').split(' ')[0] ?? ''
  if (verb === 'explain') return !command.includes(' -f ')
  if (verb === 'top' && isReplay(command)) return false
  if (['report', 'compare', 'convert'].includes(verb)) return WORKLOAD.test(command)
  const verbs = [
    'archive',
    'collect',
    'attach',
    'doctor',
    'disarm',
    'record',
    'runs',
    'stacks',
    'top',
  ]
  return verbs.includes(verb)
}

/** Tells whether a command draws on a terminal, which the commands of this test do not have. */
function needsTerminal(command: string): boolean {
  return / top /.test(command) && !command.includes(' --once') && !isReplay(command)
}

/** Tells whether `top` shows recorded logs, whose end it prints if there is no terminal. */
function isReplay(command: string): boolean {
  return / top (\S+\.jsonl|logs\/)/.test(command)
}

/**
 * Creates a folder with the files that the documents name, and with programs named `ridealong` and
 * `kubectl`.
 */
function workplace(t: Test): string {
  const folder = t.testdir({ bin: {}, cases: {}, logs: {}, 'my-metrics': {} })
  for (const path of ['docs/examples', 'test/demo/recordings', 'test/logs/verdict'])
    cpSync(join(REPOSITORY, path), join(folder, path), { recursive: true })
  cpSync(join(EXAMPLES, 'lammps.yaml'), join(folder, 'job.yaml'))
  cpSync(join(EXAMPLES, 'vitals.log'), join(folder, 'tcp.log'))
  writeFileSync(join(folder, 'lammps.jsonl'), LOGS.map((log) => readFileSync(log, 'utf8')).join(''))
  for (const log of LOGS) cpSync(log, join(folder, 'logs', basename(log)))
  for (const name of ['busy', 'train'])
    cpSync(join(folder, 'lammps.jsonl'), join(folder, `${name}.jsonl`))
  const vitals = readFileSync(join(EXAMPLES, 'vitals.log'), 'utf8')
  const before = collected(vitals, 'hpc/lammps-0/vitals', endedWith(vitals, 0))
  for (const name of COMPARED) writeFileSync(join(folder, `${name}.jsonl`), before)
  for (const run of STORED) {
    mkdirSync(join(folder, run), { recursive: true })
    const rows = gzipSync(readFileSync(join(folder, 'lammps.jsonl')))
    writeFileSync(join(folder, run, 'rows.jsonl.gz'), rows)
  }
  writeFileSync(join(folder, 'minicluster.yaml'), MINI_CLUSTER)
  cpSync(caseFolder('job-indexed'), join(folder, 'cases/job-indexed'), { recursive: true })
  cpSync(CASE_NAMESPACES, join(folder, 'cases/namespaces.yaml'))
  const metric = readFileSync(join(REPOSITORY, 'src/catalog/io-sysstat.yaml'), 'utf8')
  writeFileSync(join(folder, 'my-metrics/own.yaml'), metric.replaceAll('io-sysstat', 'own-io'))
  const program = (name: string, script: string) =>
    writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  program('ridealong', `exec '${process.execPath}' '${COMMAND}' "$@"`)
  program('xdg-open', 'true')
  program('kubectl', 'cat > applied.yaml && test -s applied.yaml')
  return folder
}

const MINI_CLUSTER = `apiVersion: flux-framework.org/v1alpha2
kind: MiniCluster
metadata:
  name: lammps
spec:
  size: 2
  containers:
  - image: ghcr.io/converged-computing/metric-lammps:latest
    command: lmp -in in.reaxc.hns
`

/** Runs a command line in a shell, as a reader would, without a cluster. */
function shell(folder: string, command: string) {
  const { FORCE_COLOR: _, ...env } = process.env
  const variables = {
    ...env,
    PATH: `${join(folder, 'bin')}:${env.PATH}`,
    KUBECONFIG: join(folder, 'no-kubeconfig'),
    RIDEALONG_ROWS: join(folder, 'rows'),
  }
  const options = { cwd: folder, env: variables, encoding: 'utf8' } as const
  const { status, stderr } = spawnSync('bash', ['-o', 'pipefail', '-c', command], options)
  return { status, stderr }
}

for (const page of PAGES) {
  const commands = commandsIn(page)
    .map((command) => command.replace(IN_CLONE, 'ridealong '))
    .filter(isOurs)
  if (commands.length === 0) continue
  t.test(`the commands in ${page} succeed, or fail only without a cluster`, async (t) => {
    const folder = workplace(t)
    for (const command of commands) {
      const { status, stderr } = shell(folder, command)
      if (needsTerminal(command)) {
        t.match(stderr, /--once/, `${command}: accepted, but there is no terminal`)
        t.equal(status, 2)
      } else if (needsCluster(command)) {
        t.match(stderr, /no-kubeconfig/, `${command}: accepted, but there is no cluster`)
        t.equal(status, 2)
      } else {
        t.equal(status, 0, `${command}\n${stderr}`)
      }
    }
    const job = readFileSync(join(folder, 'job.yaml'), 'utf8')
    t.equal(
      job,
      readFileSync(join(EXAMPLES, 'lammps.yaml'), 'utf8'),
      'the commands leave job.yaml unchanged',
    )
  })
}

t.test('the npm scripts that the documents name exist', async (t) => {
  const { scripts } = JSON.parse(textOf('package.json'))
  const lines = PAGES.flatMap((page) => [...commandsIn(page), ...spansIn(page)])
  const named = lines.flatMap((line) => [...line.matchAll(/npm (?:run )?([\w:-]+)/g)])
  const names = named.map(([, name = '']) => name).filter((name) => !NPM_ITSELF.includes(name))
  t.ok(names.length > 10, `the documents name ${names.length} scripts`)
  for (const name of names) t.type(scripts[name], 'string', `the script ${name} exists`)
})

t.test('the verbs and options in the sentences of the documents exist', async (t) => {
  const help = new Map<string, string>()
  for (const span of PAGES.flatMap(spansIn).filter(isOurs)) {
    const [, verb = '', ...words] = span.split(' ')
    if (verb === 'VERB') continue
    if (!help.has(verb)) help.set(verb, (await run([verb, '--help'])).out)
    const text = help.get(verb) ?? ''
    t.match(text, `Usage: ridealong ${verb}`, `the verb of "${span}" exists`)
    for (const option of words.filter((word) => word.startsWith('-'))) {
      t.match(text, new RegExp(`(^|[ ,])${option}[ ,]`, 'm'), `${option} of "${span}" exists`)
    }
  }
})
