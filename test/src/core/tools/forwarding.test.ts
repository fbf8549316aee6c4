import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { buildCatalog } from '../../../../src/core/catalog.ts'
import { isMpiLauncher, launchAgents } from '../../../../src/core/tools/forwarding.ts'
import type { ToolVariable } from '../../../../src/core/tools/tool.ts'
import { recorded } from '../../../cases/read.ts'
import { type Json, podOf, ride, type Texts, variable } from '../build.ts'
import { ALLOWED, containerIn, toolDocument } from './build.ts'

const OPEN_MPI = 'OMPI_MCA_orte_launch_agent'
const PRRTE = 'PRTE_MCA_prte_launch_agent'
const LAUNCHER = { 'jobset.sigs.k8s.io/replicatedjob-name': 'launcher' }
const level = { type: 'string', enum: ['all', 'a b'], default: 'all', description: 'x' } as const

const forwarded = (name: string, value: string, more: object = {}): ToolVariable => {
  return { name, value, forwardedBy: 'open-mpi', ...more }
}

const CATALOG = buildCatalog(
  [
    toolDocument(
      'trace',
      [
        forwarded('LD_PRELOAD', '/opt/trace.so', { separator: ':' }),
        { name: 'TRACE_LEVEL', option: 'level', forwardedBy: 'open-mpi' },
        { name: 'TRACE_HERE', value: 'a$(b)' },
      ],
      { options: { level } },
    ),
    toolDocument('profile', [
      forwarded('LD_PRELOAD', '/opt/profile.so', { separator: ':' }),
      forwarded('PROFILE', '/var/opt/profile/cpu'),
    ]),
    toolDocument('local', [{ name: 'LOCAL', value: '1' }]),
  ],
  '3f2a91c0',
)

function launcher(inject: string, spec: Json = {}, more: Texts = {}, labels: Json = LAUNCHER) {
  const pod = podOf({ 'ridealong.dev/inject': inject, ...more }, spec, { labels })
  return ride(pod, { catalog: CATALOG, labels: ALLOWED })
}

const agentOf = (ridden: ReturnType<typeof launcher>, name = OPEN_MPI) =>
  variable(containerIn(ridden, 'app'), name)

t.test('a launcher gets variables with which mpirun forwards those of its tool', async (t) => {
  const ridden = launcher('trace', {}, { 'trace.ridealong.dev/level': 'a b' })
  const folder = '/var/opt/ridealong/trace'
  const exported =
    `test -d ${folder} && for LD_PRELOAD in /opt/trace.so; do export LD_PRELOAD; done; ` +
    `test -d ${folder} && for TRACE_LEVEL in a\\ b; do export TRACE_LEVEL; done; `
  t.equal(agentOf(ridden), `${exported}orted`)
  t.equal(agentOf(ridden, PRRTE), `${exported}prted`)
  const names = ['LD_PRELOAD', 'TRACE_LEVEL', 'TRACE_HERE', OPEN_MPI, PRRTE]
  t.strictSame(
    containerIn(ridden, 'app').env?.map(({ name }) => name),
    names,
  )
  t.strictSame(ridden.status?.variables, names, 'inject --undo removes them')
})

t.test('the values of two tools are joined, and need the folders of both', async (t) => {
  const value = agentOf(launcher('trace,profile,local')) ?? ''
  const [folder, other] = ['trace', 'profile'].map((name) => `/var/opt/ridealong/${name}`)
  t.equal(
    value.split('; ')[0],
    [
      `test -d ${folder} && test -d ${other}`,
      'for LD_PRELOAD in /opt/trace.so:/opt/profile.so',
    ].join(' && '),
  )
  t.match(value, /for PROFILE in .* orted$/)
  t.notMatch(value, /LOCAL|TRACE_HERE/, 'only variables of which the catalog says so')
})

t.test('the values of the application are not forwarded', async (t) => {
  const env = [{ name: 'LD_PRELOAD', value: '/own.so' }]
  const ridden = launcher('profile', { containers: [{ name: 'app', image: 'a', env }] })
  t.match(agentOf(ridden), /in \/opt\/profile\.so;/)
  t.match(containerIn(ridden, 'app').env?.[1], { value: '$(LD_PRELOAD):/opt/profile.so' })
})

t.test('other pods, other tools and requests for some pods forward nothing', async (t) => {
  const ofTrace = { 'trace.ridealong.dev/pods': 'launcher' }
  const rows: [string, ReturnType<typeof launcher>][] = [
    [
      'a worker',
      launcher('trace', {}, {}, { ...LAUNCHER, [Object.keys(LAUNCHER)[0] ?? '']: 'node' }),
    ],
    ['a pod without labels', launcher('trace', {}, {}, {})],
    ['a tool without forwardedBy', launcher('local')],
    ['some pods', launcher('trace', {}, { 'ridealong.dev/pods': 'launcher' })],
    ['some pods for the metric', launcher('trace', {}, ofTrace)],
  ]
  for (const [name, ridden] of rows) {
    t.equal(ridden.word, 'injected', name)
    t.notMatch(JSON.stringify(ridden.pod.spec), /launch_agent/, name)
  }
  const both = launcher('trace,profile', {}, ofTrace)
  t.notMatch(agentOf(both), /trace/, 'the other tool is forwarded')
  t.match(agentOf(both), /PROFILE/)
})

t.test('a launcher with its own launch agent gets no tool that is forwarded', async (t) => {
  for (const name of [OPEN_MPI, PRRTE]) {
    const own = { name: 'app', image: 'a', env: [{ name, value: 'orted' }] }
    const { word, message } = launcher('trace', { containers: [own] })
    t.equal(word, 'variable-taken')
    t.equal(message, `metric trace sets the variable ${name}, which container "app" already has`)
    const { left, observers } = launcher('local,trace', { containers: [own] })
    t.strictSame(left, { trace: 'variable-taken' })
    t.strictSame(Object.keys(observers), ['local-install', 'local'])
    t.equal(launcher('local', { containers: [own] }).word, 'injected')
    t.equal(launcher('trace', { containers: [own] }, {}, {}).word, 'injected', 'no launcher')
  }
  const prefixes: [string, string][] = [
    ['OMPI_', 'variable-taken'],
    ['PRTE_MCA', 'variable-taken'],
    ['HYDRA_', 'injected'],
  ]
  for (const [prefix, word] of prefixes) {
    const envFrom = [{ prefix, configMapRef: { name: 'mpi' } }]
    const { word: got } = launcher('trace', { containers: [{ name: 'app', image: 'a', envFrom }] })
    t.equal(got, word, prefix)
  }
})

/** Returns the environment with which a shell starts the daemon of a launch agent. */
function startedBy(command: string, folder: string): ReadonlyMap<string, string> {
  const env = { PATH: `${folder}:/usr/bin:/bin` }
  const output = execFileSync('/bin/sh', ['-c', command], { env, encoding: 'utf8' })
  const entries = output.split('\0').filter((entry) => entry.includes('='))
  assert.ok(entries.length > 0, 'the daemon was started')
  return new Map(entries.map((entry) => entry.split(/=(.*)/s).slice(0, 2) as [string, string]))
}

/** A command after `times` double quotes, as Open MPI repeats it for further machines. */
function repeated(command: string, times: number): string {
  if (times === 0) return command
  return repeated(
    execFileSync('/bin/sh', ['-c', `printf %s "${command}"`], { encoding: 'utf8' }),
    times - 1,
  )
}

/** The launch agent of a metric with one variable, whose folder is `folder`. */
function agentFor(value: string, folder: string): string {
  const document = toolDocument('x', [forwarded('VALUE', value)])
  const results = { subPath: 'results', mountPath: folder }
  const tool = { ...document.spec.tool, results } as typeof document.spec.tool
  const catalog = buildCatalog([{ ...document, spec: { ...document.spec, tool } as never }], '0')
  const metric = catalog.metrics.get('x')
  const metrics =
    metric === undefined ? [] : [{ metric, options: [], pods: undefined, isDefault: false }]
  const [agent] = launchAgents({ isLauncher: true, metrics })
  return agent?.value ?? ''
}

/** Returns a folder with a daemon that prints its environment, and with the results of a tool. */
function machine(t: Test): string {
  const folder = t.testdir({ results: {}, orted: '#!/bin/sh\nexec /usr/bin/env -0\n' })
  chmodSync(join(folder, 'orted'), 0o755)
  return folder
}

const values = fc
  .array(fc.constantFrom(..." '~#*?;&|()<>[]{}!%^abc/orted-".split(''), '  ', ' orted '))
  .map((parts) => parts.join(''))

t.test('a shell passes each value unchanged to the daemon, on further machines too', async (t) => {
  const folder = machine(t)
  fc.assert(
    fc.property(values, fc.nat(2), (value, times) => {
      const agent = agentFor(value, join(folder, 'results'))
      assert.doesNotMatch(agent, / {2}|=/, 'Open MPI drops the second of two blanks')
      const daemons = agent.split(' ').filter((word) => word === 'orted')
      assert.equal(daemons.length, 1, 'Open MPI finds the daemon among the words')
      assert.equal(startedBy(repeated(agent, times), folder).get('VALUE'), value)
    }),
    {
      numRuns: 100,
      examples: [
        ['', 0],
        [' ', 1],
        ['a  b', 2],
        ["it's", 2],
        ['orted', 1],
      ],
    },
  )
})

t.test('a machine without the folder of the tool starts the daemon as before', async (t) => {
  const folder = machine(t)
  const env = startedBy(agentFor('x', join(folder, 'missing')), folder)
  t.ok(env.has('PATH'))
  t.notOk(env.has('VALUE'))
})

const KUBEFLOW = 'training.kubeflow.org'
const JOB = 'jobset.sigs.k8s.io/replicatedjob-name'

t.test('the labels of an operator show the pod whose mpirun starts ranks over ssh', async (t) => {
  const rows: [string, unknown, boolean][] = [
    ['a launcher of Kubeflow Trainer', { [JOB]: 'launcher' }, true],
    ['a node of Kubeflow Trainer', { [JOB]: 'node' }, false],
    [
      'a launcher of the Training Operator',
      { [`${KUBEFLOW}/operator-name`]: 'mpijob-controller', [`${KUBEFLOW}/job-role`]: 'launcher' },
      false,
    ],
    ['only the role', { [`${KUBEFLOW}/job-role`]: 'launcher' }, false],
    ['no labels', undefined, false],
    ['wrong labels', ['launcher'], false],
    ['the label of all objects', { toString: 'launcher' }, false],
  ]
  for (const [name, labels, isLauncher] of rows)
    t.equal(isMpiLauncher({ labels }), isLauncher, name)
  t.notOk(isMpiLauncher({ annotations: { [JOB]: 'launcher' } }), 'anyone can write annotations')
})

t.test('the launcher of a recorded MPIJob is known, and no other recorded pod', async (t) => {
  const rows: readonly (readonly [string, boolean])[] = [
    ['mpijob-launcher', true],
    ['mpijob-worker', false],
    ['metricset-launcher', false],
    ['jobset-leader', false],
    ['pod-guaranteed', false],
  ]
  for (const [name, isLauncher] of rows) {
    const { metadata } = JSON.parse(recorded(name)).request.object
    t.equal(isMpiLauncher(metadata), isLauncher, name)
  }
})
