import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { Fields } from '../../src/core/kubernetes/json.ts'
import { selectMetrics } from '../../src/core/rules/pod-selection.ts'
import { parsePods } from '../../src/core/text/pod-selector.ts'

// Expressions of `ridealong.dev/pods` with pods of all operators. The result is compared with that
// of a slow and simple implementation, which is independent of src/core.

/** What a test knows about a pod, independently of the labels that tell it. */
interface Truth {
  readonly metadata: Fields
  /** The names that select the pod. Undefined for a pod without an index. */
  readonly names: readonly string[] | undefined
  /** The number of the pod; 'none' for a launcher or head; undefined if it is not known. */
  readonly number: number | 'none' | undefined
  /** The number of the group before the pod, if the labels do not give the size of the groups. */
  readonly group: number
}

/** The numbers from which the pods of all shapes are built. */
interface Numbers {
  readonly number: number
  readonly group: number
  /** The size of the groups, greater than `number`. */
  readonly size: number
  readonly role: string
}

const NUMBERS: fc.Arbitrary<Numbers> = fc.record({
  number: fc.oneof(fc.nat(40), fc.nat(2000)),
  group: fc.nat(40),
  size: fc.integer({ min: 1, max: 64 }),
  role: fc.constantFrom('worker', 'launcher', 'leader', 'workers', 'node-1', 'Group.A_b'),
})

const COMPLETION = 'batch.kubernetes.io/job-completion-index'
const owner = (kind: string, name: string) => [{ kind, name, controller: true }]
const lws = (key: string) => `leaderworkerset.sigs.k8s.io/${key}`

/** The pods of each operator, as its controller creates them. */
const SHAPES: Readonly<Record<string, (numbers: Numbers) => Truth>> = {
  'Indexed Job': ({ number }) => ({
    metadata: { labels: { [COMPLETION]: `${number}` }, annotations: { [COMPLETION]: `${number}` } },
    ...{ names: [], number, group: 0 },
  }),
  'old Indexed Job': ({ number }) => ({
    metadata: { annotations: { [COMPLETION]: `${number}` }, ownerReferences: owner('Job', 'a-1') },
    ...{ names: [], number, group: 0 },
  }),
  StatefulSet: ({ number }) => ({
    metadata: { name: 'db-x', labels: { 'apps.kubernetes.io/pod-index': `${number}` } },
    ...{ names: [], number, group: 0 },
  }),
  'named StatefulSet': ({ number }) => ({
    metadata: { name: `db-${number}`, ownerReferences: owner('StatefulSet', 'db') },
    ...{ names: [], number, group: 0 },
  }),
  JobSet: ({ number, group, role }) => ({
    metadata: {
      labels: {
        'jobset.sigs.k8s.io/replicatedjob-name': role,
        'jobset.sigs.k8s.io/job-index': `${group}`,
        'jobset.sigs.k8s.io/job-global-index': `${group + 7}`,
        [COMPLETION]: `${number}`,
      },
    },
    ...{ names: [role, `${role}-${group}`, `${role}-${group}-${number}`], number, group },
  }),
  'MPIJob launcher': () => ({
    metadata: { labels: { 'training.kubeflow.org/job-role': 'launcher' } },
    ...{ names: ['launcher'], number: 'none', group: 0 },
  }),
  'MPIJob worker': ({ number }) => ({
    metadata: {
      labels: {
        'training.kubeflow.org/job-role': 'worker',
        'training.kubeflow.org/replica-index': `${number}`,
      },
    },
    ...{ names: ['worker', `worker-${number}`], number, group: 0 },
  }),
  PyTorchJob: ({ number }) => ({
    metadata: {
      labels: {
        'training.kubeflow.org/replica-type': 'worker',
        'training.kubeflow.org/replica-index': `${number}`,
      },
    },
    ...{ names: ['worker', `worker-${number}`], number, group: 0 },
  }),
  LeaderWorkerSet: ({ number, group, size }) => ({
    metadata: {
      labels: {
        [lws('name')]: 'a',
        [lws('group-index')]: `${group}`,
        [lws('worker-index')]: `${number % size}`,
      },
      annotations: { [lws('size')]: `${size}` },
    },
    names: [number % size === 0 ? 'leader' : 'worker'],
    ...{ number: group * size + (number % size), group: 0 },
  }),
  'LeaderWorkerSet before its webhook': ({ number, group, size }) => ({
    metadata: {
      name: `a-${group}-${(number % size) + 1}`,
      ownerReferences: owner('StatefulSet', `a-${group}`),
      labels: { [lws('name')]: 'a', [lws('group-index')]: `${group}` },
      annotations: { [lws('size')]: `${size + 1}` },
    },
    names: ['worker'],
    ...{ number: group * (size + 1) + (number % size) + 1, group: 0 },
  }),
  Volcano: ({ number, role }) => ({
    metadata: { labels: { 'volcano.sh/task-spec': role, 'volcano.sh/task-index': `${number}` } },
    ...{ names: [role, `${role}-${number}`], number, group: 0 },
  }),
  'RayCluster head': () => ({
    metadata: { labels: { 'ray.io/node-type': 'head', 'ray.io/group': 'headgroup' } },
    ...{ names: ['head'], number: 'none', group: 0 },
  }),
  'RayCluster worker of an old version': ({ role }) => ({
    metadata: { labels: { 'ray.io/node-type': 'worker', 'ray.io/group': role } },
    ...{ names: ['worker', role], number: undefined, group: 0 },
  }),
  'RayCluster host': ({ number, group, role }) => ({
    metadata: {
      labels: {
        'ray.io/node-type': 'worker',
        'ray.io/group': role,
        'ray.io/worker-group-replica-index': `${group}`,
        'ray.io/replica-host-index': `${number}`,
      },
    },
    names: ['worker', role, `${role}-${group}`, `${role}-${group}-${number}`],
    ...{ number, group },
  }),
  Deployment: ({ role }) => ({
    metadata: { labels: { app: role }, ownerReferences: owner('ReplicaSet', 'web-1') },
    ...{ names: undefined, number: undefined, group: 0 },
  }),
}

const TERM: fc.Arbitrary<string> = fc.oneof(
  fc.nat(60).map(String),
  fc.nat(2000).map(String),
  fc.tuple(fc.nat(100), fc.nat(200)).map(([first, more]) => `${first}-${first + more}`),
  fc.constantFrom('0-999999999', '2000-999999999', '00003-007'),
  fc.oneof(fc.integer({ min: 1, max: 70 }), fc.constant(999999999)).map((n) => `every:${n}`),
  fc.constantFrom('worker', 'launcher', 'leader', 'workers', 'head', 'node-1', 'Group.A_b'),
  fc
    .tuple(fc.constantFrom('worker', 'workers', 'node-1'), fc.nat(40))
    .map((part) => part.join('-')),
  fc.constantFrom('workers-3-7', 'Group.A_b-0-0', ''),
)
const EXPRESSION = fc
  .array(fc.tuple(TERM, fc.constantFrom('', ' ', '\t')), { minLength: 1, maxLength: 8 })
  .map((terms) => terms.map(([term, blank]) => `${blank}${term}${blank}`).join(','))

/** Reports whether a term selects a pod. Numbers are compared by counting up to them. */
function reference(term: string, { names = [], number, group }: Truth): boolean {
  if (names.includes(term)) return true
  if (typeof number !== 'number') return false
  if (term.startsWith('every:')) return countTo(group + number, 0, Number(term.slice(6)))
  if (!/^[\d-]+$/.test(term)) return false
  const [first, last = first] = term.split('-').map(Number)
  return number <= Number(last) && countTo(number, Number(first), 1)
}

/** Reports whether a number is reached if one counts from a first number by a step. */
function countTo(wanted: number, first: number, step: number): boolean {
  let number = first
  while (number < wanted) number += step
  return number === wanted
}

type Outcome = 'selected' | 'pod-not-selected' | 'pod-index-unknown'

function expected(expression: string, truth: Truth): Outcome {
  const terms = expression.split(',').map((term) => term.trim())
  const written = terms.filter((term) => term !== '')
  if (written.length === 0) return 'selected'
  if (truth.names === undefined) return 'pod-index-unknown'
  if (written.some((term) => reference(term, truth))) return 'selected'
  const needsNumber = written.some((term) => /^(every:|\d+(-\d+)?$)/.test(term))
  return truth.number === undefined && needsNumber ? 'pod-index-unknown' : 'pod-not-selected'
}

function actual(expression: string, { metadata }: Truth): Outcome {
  const selector = parsePods(expression)
  if (selector !== undefined && 'problem' in selector) throw new Error(selector.problem)
  const outcome = selectMetrics(metadata, { pods: selector, metrics: [] })
  return 'reason' in outcome ? outcome.reason : 'selected'
}

/** The runs of the property. Each tests one expression with 100 pods: 100,000 pods in all. */
const RUNS = 1000
const PODS = 100

t.test('an expression selects the pods that a slow reference selects', async (t) => {
  const counts = new Map<string, number>()
  const shapes = Object.entries(SHAPES)
  const pods = fc.array(fc.tuple(fc.nat(shapes.length - 1), NUMBERS), {
    minLength: PODS,
    maxLength: PODS,
  })
  const rule = (expression: string, tested: readonly (readonly [number, Numbers])[]) => {
    for (const [shape, numbers] of tested) {
      const [name, build] = shapes[shape] ?? assert.fail()
      const truth = build(numbers)
      const outcome = expected(expression, truth)
      assert.equal(actual(expression, truth), outcome, `${name} ${JSON.stringify(truth)}`)
      const key = `${name}: ${outcome}`
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
  }
  fc.assert(fc.property(EXPRESSION, pods, rule), { numRuns: RUNS })
  for (const [name] of shapes) {
    const seen = ['selected', 'pod-not-selected', 'pod-index-unknown'].filter(
      (outcome) => (counts.get(`${name}: ${outcome}`) ?? 0) > 100,
    )
    const least = name === 'Deployment' ? 1 : 2
    t.ok(seen.length >= least, `${name} has the outcomes ${seen.join(', ')}`)
  }
})

t.test('the answer to any text takes time that does not depend on its numbers', async (t) => {
  const text = fc.string({ maxLength: 600, unit: 'binary' })
  const parts = fc.constantFrom(',', '-', 'every:', '9', '999999999', ' ', 'a', '0-999999999')
  const texts = fc.oneof(
    text,
    fc.array(parts, { maxLength: 200 }).map((all) => all.join('')),
  )
  fc.assert(
    fc.property(texts, (expression) => {
      const selector = parsePods(expression)
      if (selector === undefined) return
      if ('problem' in selector) {
        assert.match(selector.problem, /^[\x20-\x7e]{1,300}$/)
        return
      }
      const { ranges, steps, names, text: shown } = selector
      assert.match(shown, /^[\x21-\x7e]{1,512}$/)
      assert.ok(ranges.length + steps.length + names.size <= 64)
      assert.deepEqual(parsePods(shown), selector, 'the shown text has the same meaning')
    }),
    { numRuns: 20_000 },
  )
  t.pass()
})
