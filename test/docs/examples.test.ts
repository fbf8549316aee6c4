import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { REASONS, type Reason } from '../../src/core/reasons.ts'
import { readLog } from '../../src/runs/log/read.ts'
import { run } from '../cli/command.ts'
import { BUILT_IN_ROWS } from '../src/runs/log/built-in.ts'
import { REPOSITORY, textOf } from './pages.ts'

// Tests that the samples in the README and in docs/metrics/vitals.md are those of real runs, and
// have the current format of the program. `npm run docs:images` updates the run of docs/examples.

const README = textOf('README.md')
const VITALS = textOf('docs/metrics/vitals.md')
const LOG = textOf('docs/examples/vitals.log')

/** Returns the blocks of a language in a page. */
function blocks(page: string, language: string): string[] {
  const found = page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))
  return [...found].map(([, text = '']) => text)
}

const SHOWN_POD = parse(blocks(VITALS, 'yaml').find((text) => text.startsWith('spec:')) ?? '')

/**
 * The observer's output in the page of vitals, below the command that prints the output. `...`
 * separates its parts.
 */
const [SHOWN_OUTPUT = ''] = blocks(VITALS, 'console').filter((text) => text.includes('-c vitals\n'))
const SHOWN_PARTS = SHOWN_OUTPUT.split('...\n').slice(1)

t.test('the pod spec in the page of vitals is a part of the pod of the run', async (t) => {
  t.has(parse(textOf('docs/examples/lammps-pod.yaml')), SHOWN_POD)
})

t.test(
  'the pod spec in the page of vitals is a part of the pod template that inject prints',
  async (t) => {
    const { out } = await run(['inject', '-f', join(REPOSITORY, 'docs/examples/lammps.yaml')])
    t.has(parse(out).spec.template, SHOWN_POD)
  },
)

t.test('the webhook adds the same to the pod of the run today', async (t) => {
  const file = join(REPOSITORY, 'docs/examples/lammps-pod.yaml')
  const stored = parse(textOf('docs/examples/lammps-pod.yaml'))
  const object = parse((await run(['inject', '--undo', '-f', file])).out)
  t.equal(object.spec.initContainers, undefined, 'the pod is as it was requested')
  const request = { uid: 'a', operation: 'CREATE', kind: POD, namespace: 'hpc', object }
  const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request }
  const [{ image }] = stored.spec.initContainers
  const words = ['review', '-', '--output', 'pod', '--observer-image', image]
  const today = parse((await run(words, JSON.stringify(review))).out)
  t.has(generalize(stored), generalize(today), 'the API server only adds default values')
  t.strictSame(environmentOf(stored), environmentOf(today))
})

const POD = { group: '', version: 'v1', kind: 'Pod' }

/** Replaces the parts that differ between requests, and between revisions of the catalog. */
function generalize(pod: unknown): unknown {
  const text = JSON.stringify(pod).replace(/ridealong-no-token-\w+/g, 'ridealong-no-token-x')
  const [, revision = ''] = /\\"catalog\\":\\"(\w+)\\"/.exec(text) ?? []
  return JSON.parse(text.replaceAll(revision, 'REVISION'))
}

function environmentOf(pod: Pod): readonly string[] {
  return pod.spec.initContainers.flatMap(({ env }) => env.map(({ name }) => name))
}

interface Pod {
  readonly spec: {
    readonly initContainers: readonly { readonly env: readonly { readonly name: string }[] }[]
  }
}

t.test('the output in the page of vitals is a part of the log of the run', async (t) => {
  t.equal(SHOWN_PARTS.join('').trimEnd().split('\n').length, 4, 'the page shows four lines')
  for (const part of SHOWN_PARTS) t.ok(LOG.includes(part), `the log contains: ${part}`)
  const name = parse(textOf('docs/examples/lammps-pod.yaml')).metadata.name
  t.match(VITALS, `kubectl logs ${name} -n hpc`)
})

t.test('the log of the run is complete', async (t) => {
  const entries = readLog(LOG, { source: 'vitals.log' }, BUILT_IN_ROWS)
  const samples = entries.filter((entry) => {
    return entry.kind === 'process' && entry.section === 'process'
  })
  const [log] = entries.filter((entry) => entry.kind === 'log')
  t.match(log, { cuts: [], isAverage: false })
  t.equal(
    samples.length,
    2 * (log?.timepoints ?? 0),
    'each timepoint has a row for each of the two ranks',
  )
})

t.test('each verdict in the README is that of its recording', async (t) => {
  const samples = blocks(README, 'console').filter((text) =>
    /^\$ ridealong report \S+\n./.test(text),
  )
  t.equal(samples.length, 3)
  for (const sample of samples) {
    const [command = '', ...shown] = sample.trimEnd().split('\n')
    const file = command.split(' ').at(-1) ?? ''
    const { code, out, err } = await run(['report', join(REPOSITORY, file)])
    t.equal(code, 0, err)
    t.equal(shown.join(' '), out.split('\n')[1], file)
  }
})

t.test('annotate writes the annotations of the samples in the README', async (t) => {
  const samples = blocks(README, 'yaml').filter((text) => text.includes('ridealong.dev/inject'))
  t.equal(samples.length, 2)
  for (const sample of samples) {
    const shown = parse(sample)
    const bare = JSON.parse(JSON.stringify(shown), (key, value) => {
      if (key === 'annotations') return undefined
      return key === 'template' ? { ...value, spec: { containers: CONTAINERS } } : value
    })
    if (shown.kind === 'MiniCluster') bare.spec.containers = CONTAINERS
    const [, metrics = ''] = /inject: "?([\w,-]+)/.exec(sample) ?? []
    const [, target] = /target-command: (\w+)/.exec(sample) ?? []
    const more =
      target === undefined ? [] : ['--annotation', `ridealong.dev/target-command=${target}`]
    const words = ['annotate', '-f', '-', '--offline', '--metric', metrics, ...more]
    const { code, out, err } = await run(words, JSON.stringify({ ...bare, metadata: NAMED }))
    t.equal(code, 0, err)
    t.has(parse(out), shown, shown.kind)
  }
})

const CONTAINERS = [{ name: 'app', image: 'example.org/app:1' }]
const NAMED = { name: 'lammps', namespace: 'hpc' }

t.test('each sample status of a left pod has the message of its reason', async (t) => {
  for (const page of ['docs/reasons.md', 'docs/troubleshooting.md']) {
    const lines = textOf(page).match(/^\{"outcome":"left".*\}$/gm) ?? []
    t.ok(lines.length > 0, `${page} has a sample status`)
    for (const line of lines) {
      const { reason, message }: { reason: Reason; message: string } = JSON.parse(line)
      t.equal(message, REASONS[reason].sentence, `the message of ${reason} in ${page}`)
    }
  }
})
