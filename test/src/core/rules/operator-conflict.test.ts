import t from 'tap'
import { podOf, ride, type Texts } from '../build.ts'

const asking = (labels: unknown, own: Texts = {}) =>
  ride(podOf({ 'ridealong.dev/inject': 'perf-sysstat', ...own }, {}, { labels }))

const NATIVE = { 'ridealong.dev/mode': 'native' }
const CONTAINER = { 'ridealong.dev/mode': 'container' }

t.test('Argo Workflows breaks in either mode', async (t) => {
  const labels = { 'workflows.argoproj.io/workflow': 'hello-x7k2p' }
  for (const mode of [NATIVE, CONTAINER]) {
    const { word, message, observers } = asking(labels, mode)
    t.equal(word, 'operator-conflict')
    t.match(message, /^Argo Workflows created this pod: .*process 1/)
    t.notMatch(message, 'mode: native', 'there is no way out')
    t.strictSame(observers, {})
  }
})

t.test('netperf-operator and Volcano break only beside an ordinary container', async (t) => {
  const rows: [string, Texts][] = [
    ['netperf-operator', { app: 'netperf-operator' }],
    ['Volcano', { 'volcano.sh/job-name': 'lammps' }],
  ]
  for (const [operator, labels] of rows) {
    t.equal(asking(labels).word, 'injected', operator)
    t.equal(asking(labels, NATIVE).word, 'injected', operator)
    const { word, message } = asking(labels, CONTAINER)
    t.equal(word, 'operator-conflict', operator)
    t.match(message, operator, 'the operator is named')
    t.match(message, 'use ridealong.dev/mode: native', 'and so is the way out')
  }
})

t.test('a label is the whole key and value, whatever else a pod has', async (t) => {
  const rows: unknown[] = [
    undefined,
    null,
    {},
    'workflows.argoproj.io/workflow',
    { app: 'netperf' },
    { app: 'netperf-operator-2' },
    { 'volcano.sh/queue-name': 'q' },
    { 'workflows.argoproj.io/completed': 'false' },
    { workflow: 'w' },
  ]
  for (const labels of rows) {
    t.equal(asking(labels, CONTAINER).word, 'injected', JSON.stringify(labels))
  }
  const empty = { 'workflows.argoproj.io/workflow': '' }
  t.equal(asking(empty).word, 'operator-conflict', 'a label of no value is there')
  const both = { app: 'netperf-operator', 'volcano.sh/job-name': 'j' }
  t.equal(asking(both, CONTAINER).word, 'operator-conflict')
})

t.test('an annotation of the same name is no label', async (t) => {
  const { word } = asking({}, { 'workflows.argoproj.io/workflow': 'w' })
  t.equal(word, 'injected')
})
