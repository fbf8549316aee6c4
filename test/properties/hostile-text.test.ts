import { once } from 'node:events'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { KEYS, STATUS_KEY } from '../../src/core/keys.ts'
import { caseFolder } from '../cases/read.ts'
import { run, runInTerminal } from '../cli/command.ts'
import { pod } from '../src/runs/collect/pod.ts'
import { kubeconfigOf } from '../stand-ins/kubeconfig.ts'
import { standIn } from '../stand-ins/pod-logs.ts'
import { podOf, reviewOf } from '../webhook/server.ts'
import { FORGED, HARMFUL, HOSTILE, HOSTILE_LINE, OURS } from './hostile-text.ts'

// Anyone who may create a pod, write a log or name a process can write hostile texts. No verb may
// let these texts control the user's terminal. Each call in ROWS runs once with a terminal and once
// with pipes.

const ESCAPED = /\\u001b\]0;PWNED\\+u0007/
const IN_YAML = /\\e\]0;PWNED\\a/
const IN_ASCII = /\?\]0;PWNED\?/

/** One call of the command. */
interface Row {
  readonly args: readonly string[]
  /**
   * The part of the output that must be visible in the terminal: in most rows, the hostile text
   * with escapes, so that the row does not pass without this text.
   */
  readonly shows: RegExp
  /**
   * Whether standard output is a manifest or a log that another person wrote. A pipe receives such
   * a text byte for byte; a terminal receives it with escapes.
   */
  readonly isVerbatim?: boolean
}

const hostilePod = (annotations: object, more: object = {}) => {
  const base = podOf({}) as { metadata: object; spec: { containers: readonly object[] } }
  const metadata = { ...base.metadata, name: HOSTILE, labels: { [HOSTILE]: HOSTILE }, annotations }
  const containers = base.spec.containers.map((container) => ({ ...container, ...more }))
  return { ...base, metadata, spec: { ...base.spec, nodeSelector: { a: HOSTILE }, containers } }
}

const ASKING = { [KEYS.inject]: 'perf-sysstat', note: HOSTILE }
const LEFT = JSON.stringify({ outcome: 'left', reason: 'host-pid', message: HOSTILE })
const INJECTED = JSON.stringify({ outcome: 'injected', metrics: [HOSTILE], mode: HOSTILE })

const created = (status: string) => ({
  ...hostilePod({ ...ASKING, [STATUS_KEY]: status }),
  apiVersion: 'v1',
  kind: 'Pod',
  status: { phase: 'Running', message: HOSTILE },
})
const withUid = (object: ReturnType<typeof created>) => ({
  ...object,
  metadata: { ...object.metadata, uid: 'u', namespace: 'hpc' },
})

const METRIC = {
  apiVersion: 'ridealong.dev/v1alpha1',
  kind: 'Metric',
  metadata: { name: 'ours' },
  spec: {
    description: HOSTILE,
    privilege: 'baseline',
    options: { depth: { type: 'boolean', default: false, description: HOSTILE } },
    container: {
      image: 'example.com/o:1',
      resources: { limits: { cpu: '10m', memory: '16Mi' } },
      env: [{ name: 'A', value: HOSTILE }],
    },
  },
}

/** A manifest that contains the hostile text without escapes, in a comment and in two values. */
/** A carriage return ends a line of YAML, and so also the comment. */
const COMMENT = HOSTILE_LINE.replaceAll('\r', '')

const MANIFEST = `apiVersion: batch/v1
kind: Job
metadata:
  name: lammps # ${COMMENT}
  annotations:
    note: "${HOSTILE_LINE}"
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: lammps
        image: "${HOSTILE_LINE}"
`

/** A manifest of an unknown kind. A message on standard error contains the name of the object. */
const OTHER_KIND = `apiVersion: example.com/v1
kind: Thing
spec: {}
metadata:
  name: "${HOSTILE_LINE}"
`

/**
 * A manifest with a key that is a list. By default, the YAML library prints a warning that quotes
 * such a key.
 */
const COLLECTION_KEY = `${MANIFEST}---\n? ["${HOSTILE_LINE}"]\n: 1\n`

const row = (command: string) => {
  return JSON.stringify([{ time: 102836, uid: 0, pid: 7, percent_cpu: 1, command }])
}
const LOG = [
  `METADATA START ${JSON.stringify({ metricName: 'perf-sysstat', owner: HOSTILE, pod: HOSTILE })}`,
  'METADATA END',
  'PIDSTAT COMMAND START',
  HOSTILE_LINE,
  'PIDSTAT COMMAND END',
  'METRICS OPERATOR COLLECTION START',
  'METRICS OPERATOR TIMEPOINT',
  'CPU STATISTICS TASK',
  row(HOSTILE),
  'METRICS OPERATOR COLLECTION END',
  HOSTILE_LINE,
  '',
].join('\n')

/** Starts a server that listens until the tests of this file end, and returns its URL. */
async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/**
 * An apiserver that refuses every request with a hostile message, except the request for its
 * version.
 */
const refusing = await serve(({ url }, response) => {
  if (url?.startsWith('/version')) return response.end('{}')
  response.writeHead(403, { 'content-type': 'application/json' })
  return response.end(JSON.stringify({ kind: 'Status', code: 403, message: HOSTILE }))
})

/** A server that imitates the status server of the webhook. */
const status = await serve((_, response) => {
  response.end(JSON.stringify({ checks: { [HOSTILE]: HOSTILE } }))
})

const folder = t.testdir({
  catalog: { 'ours.yaml': JSON.stringify(METRIC) },
  broken: { 'ours.yaml': JSON.stringify({ ...METRIC, [HOSTILE]: 1 }) },
  'unknown.json': JSON.stringify(reviewOf(hostilePod({ [KEYS.inject]: HOSTILE }))),
  'asking.json': JSON.stringify(reviewOf(hostilePod(ASKING))),
  'left.json': JSON.stringify(withUid(created(LEFT))),
  'injected.json': JSON.stringify(withUid(created(INJECTED))),
  'not.json': `{"a": ${HOSTILE_LINE}`,
  'job.yaml': MANIFEST,
  'other.yaml': `${MANIFEST}---\n${OTHER_KIND}`,
  'key.yaml': COLLECTION_KEY,
  'not.yaml': `a: [\n${HOSTILE_LINE}: b: c`,
  'wrong.yaml': MANIFEST.replace(
    '  template:',
    `  x: {${KEYS.inject}: "${HOSTILE_LINE}"}\n  template:`,
  ),
  'run.log': LOG,
  'none.yaml': '',
  kubeconfig: '',
})
const at = (name: string) => join(folder, name)
/** Creates a file with a hostile name, and returns its path. */
const named = (name: string, text: string) => {
  writeFileSync(at(`${HOSTILE.replaceAll('/', '')}.${name}`), text)
  return at(`${HOSTILE.replaceAll('/', '')}.${name}`)
}
mkdirSync(at('cases'))
cpSync(caseFolder('pod-windows'), at(`cases/${HOSTILE}`), { recursive: true })
writeFileSync(at(`cases/${HOSTILE}/answer.json`), `{"a": "${HOSTILE}"}`)

// The Kubernetes client accepts an http server only with insecure-skip-tls-verify.
const PLAIN = 'insecure-skip-tls-verify: true, server:'
writeFileSync(at('kubeconfig'), kubeconfigOf(refusing).replace('server:', PLAIN))
const REFUSING = ['--kubeconfig', at('kubeconfig')]

const clusterOf = async (logs: Record<string, string>, said?: string) => {
  const shape = said === undefined ? {} : { status: said }
  const { kubeconfig } = await standIn(t, { pods: () => [pod({ index: 0, ...shape })], logs })
  return ['--kubeconfig', kubeconfig]
}
const OBSERVER = 'lammps-0-abcde/perf-sysstat'
const whole = await clusterOf({ [OBSERVER]: LOG })
const foreign = await clusterOf({ [OBSERVER]: HOSTILE_LINE })
const left = await clusterOf({}, LEFT)

const ROWS: Readonly<Record<string, Row>> = {
  'the table of all metrics': { args: ['metrics', '--catalog', at('catalog')], shows: ESCAPED },
  'the description of one metric': {
    args: ['metrics', 'ours', '--catalog', at('catalog')],
    shows: ESCAPED,
  },
  'the YAML output of metrics': {
    args: ['metrics', '--catalog', at('catalog'), '-o', 'yaml'],
    shows: IN_YAML,
  },
  'the error about an invalid catalog': {
    args: ['metrics', '--catalog', at('broken')],
    shows: ESCAPED,
  },
  'a decision that review prints': { args: ['review', at('unknown.json')], shows: IN_YAML },
  'a response that review prints': {
    args: ['review', '-o', 'response', at('unknown.json')],
    shows: IN_ASCII,
  },
  'a patch that review prints': {
    args: ['review', '-o', 'patch', at('asking.json')],
    shows: /perf-sysstat/,
  },
  'a pod that review prints': { args: ['review', '-o', 'pod', at('asking.json')], shows: IN_YAML },
  'a difference that review prints': {
    args: ['review', '-o', 'diff', at('asking.json')],
    shows: IN_YAML,
  },
  'the name of a file that review reads': {
    args: ['review', '-o', 'diff', named('json', JSON.stringify(reviewOf(hostilePod(ASKING))))],
    shows: ESCAPED,
  },
  'the error of review about invalid JSON': { args: ['review', at('not.json')], shows: /not JSON/ },
  'the output of test for a failed case': { args: ['test', at('cases')], shows: ESCAPED },
  'a manifest that inject prints': {
    args: ['inject', '-f', at('job.yaml'), '--metric', 'perf-sysstat'],
    shows: ESCAPED,
    isVerbatim: true,
  },
  'the JSON output of inject': {
    args: ['inject', '-f', at('job.yaml'), '--metric', 'perf-sysstat', '-o', 'json'],
    shows: ESCAPED,
  },
  'a note of inject about an unknown kind': {
    args: ['inject', '-f', at('other.yaml'), '--metric', 'perf-sysstat'],
    shows: /ridealong: .*\\u001b\]0;PWNED/,
    isVerbatim: true,
  },
  'the error of inject about invalid YAML': {
    args: ['inject', '-f', at('not.yaml')],
    shows: /ridealong: /,
  },
  'the name of a file that inject reads': {
    args: ['inject', '-f', named('yaml', 'a: [')],
    shows: ESCAPED,
  },
  'the error of inject about an unknown metric': {
    args: ['inject', '-f', at('job.yaml'), '--metric', HOSTILE],
    shows: IN_ASCII,
  },
  'the error of inject about an invalid annotation': {
    args: ['inject', '-f', at('job.yaml'), '--annotation', HOSTILE],
    shows: ESCAPED,
  },
  'the error of inject about a key that is a list': {
    args: ['inject', '-f', at('key.yaml'), '--metric', 'perf-sysstat'],
    shows: /ridealong: .* a key must be a string, a number or a boolean/,
  },
  'a manifest that annotate prints': {
    args: ['annotate', '-f', at('job.yaml'), '--metric', 'perf-sysstat'],
    shows: ESCAPED,
    isVerbatim: true,
  },
  'a note of annotate about an unknown kind': {
    args: ['annotate', '-f', at('other.yaml'), '--metric', 'perf-sysstat'],
    shows: /ridealong: .*\\u001b\]0;PWNED/,
    isVerbatim: true,
  },
  'the explanation of a pod that was left': {
    args: ['explain', '--offline', '-f', at('left.json')],
    shows: ESCAPED,
  },
  'the explanation of a pod that was injected': {
    args: ['explain', '--offline', '-f', at('injected.json')],
    shows: ESCAPED,
  },
  'the explanation of a review': {
    args: ['explain', '--offline', '-f', at('unknown.json')],
    shows: ESCAPED,
  },
  'the YAML output of explain': {
    args: ['explain', '--offline', '-f', at('left.json'), '-o', 'yaml'],
    shows: IN_YAML,
  },
  'the JSON output of explain': {
    args: ['explain', '--offline', '-f', at('left.json'), '-o', 'json'],
    shows: ESCAPED,
  },
  'the error of explain about a missing permission': {
    args: ['explain', 'pod/a', ...REFUSING],
    shows: ESCAPED,
  },
  'the error of explain about an invalid kind': {
    args: ['explain', HOSTILE, ...REFUSING],
    shows: ESCAPED,
  },
  'the JSON Lines of collect': { args: ['collect', 'job/lammps', ...whole], shows: ESCAPED },
  'the CSV of collect': { args: ['collect', 'job/lammps', '-o', 'csv', ...whole], shows: ESCAPED },
  'the unchanged logs of collect': {
    args: ['collect', 'job/lammps', '-o', 'logs', ...whole],
    shows: ESCAPED,
    isVerbatim: true,
  },
  'the rows of collect --follow': {
    args: ['collect', 'job/lammps', '--follow', ...whole],
    shows: ESCAPED,
  },
  'a collected log that is not from an observer': {
    args: ['collect', 'job/lammps', ...foreign],
    shows: ESCAPED,
  },
  'a notice of collect about a pod that was left': {
    args: ['collect', 'job/lammps', ...left],
    shows: ESCAPED,
  },
  'the table of top': {
    args: ['top', 'job/lammps', '--once', '--by', 'program', ...whole],
    shows: ESCAPED,
  },
  'the CSV of top': {
    args: ['top', 'job/lammps', '--once', '--by', 'program', '-o', 'csv', ...whole],
    shows: ESCAPED,
  },
  'the message of top about a pod whose status is left': {
    args: ['top', 'job/lammps', '--once', ...left],
    shows: ESCAPED,
  },
  'the error of top about a missing permission': {
    args: ['top', 'job/lammps', '--once', ...REFUSING],
    shows: ESCAPED,
  },
  'the error of collect about a missing permission': {
    args: ['collect', 'job/lammps', ...REFUSING],
    shows: ESCAPED,
  },
  'a page that report prints': {
    args: ['report', at('run.log'), '-o', 'html', '--title', HOSTILE],
    shows: ESCAPED,
  },
  'a text that report prints': {
    args: ['report', at('run.log'), '--title', HOSTILE],
    shows: ESCAPED,
  },
  'the name of a log that report reads': { args: ['report', named('log', LOG)], shows: ESCAPED },
  'the error of report about a file that is not a log': {
    args: ['report', named('txt', HOSTILE)],
    shows: ESCAPED,
  },
  'a trace that convert prints': {
    args: ['convert', at('run.log'), '--format', 'chrome-trace'],
    shows: ESCAPED,
  },
  'the error of convert about an ending': {
    args: ['convert', at('run.log'), '--to', HOSTILE],
    shows: ESCAPED,
  },
  'the error of attach about a missing permission': {
    args: ['attach', 'db-0', '--metric', 'perf-sysstat', ...REFUSING],
    shows: ESCAPED,
  },
  'the checks of doctor without permissions': { args: ['doctor', ...REFUSING], shows: ESCAPED },
  'the YAML output of doctor': { args: ['doctor', '-o', 'yaml', ...REFUSING], shows: ESCAPED },
  'the JSON output of doctor': { args: ['doctor', '-o', 'json', ...REFUSING], shows: ESCAPED },
  'the answer of a status server to doctor': {
    args: ['doctor', '--status-url', status, ...REFUSING],
    shows: ESCAPED,
  },
  'the error of disarm about a missing permission': {
    args: ['disarm', '--webhook-configuration', HOSTILE, ...REFUSING],
    shows: ESCAPED,
  },
  'the error of record about a missing permission': {
    args: ['record', at('new'), '--url', 'https://127.0.0.1:1', ...REFUSING],
    shows: ESCAPED,
  },
  'the error of serve about a missing certificate': {
    args: ['serve', '--cert', HOSTILE, '--key', HOSTILE, '--namespaces', at('none.yaml')],
    shows: ESCAPED,
  },
  'the error about an unknown verb': { args: [HOSTILE], shows: ESCAPED },
  'the error about an unknown option': { args: ['metrics', `--${HOSTILE}`], shows: ESCAPED },
}

for (const [where, { args, shows, isVerbatim = false }] of Object.entries(ROWS)) {
  t.test(`hostile text has no effect in ${where}`, async (t) => {
    const [shown, { out, err }] = await Promise.all([runInTerminal(args), run(args)])
    const terminal = shown.out.replace(OURS, '')
    t.equal(HARMFUL.exec(terminal)?.[0], undefined, 'the terminal receives no harmful character')
    t.notMatch(terminal, FORGED)
    t.match(terminal, shows)
    t.equal(HARMFUL.exec(err)?.[0], undefined, 'piped standard error has no harmful character')
    t.notMatch(err, FORGED)
    if (isVerbatim) t.match(out, HOSTILE_LINE, 'a pipe receives the unchanged text')
    else
      t.equal(HARMFUL.exec(out)?.[0], undefined, 'piped standard output has no harmful character')
    t.notMatch(out, isVerbatim ? /(?!)/ : FORGED)
  })
}
