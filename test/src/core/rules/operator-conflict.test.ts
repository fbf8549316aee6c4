import t from 'tap'
import { podOf, ride, type Texts } from '../build.ts'

const asking = (labels: unknown, own: Texts = {}) =>
  ride(podOf({ 'ridealong.dev/inject': 'perf-sysstat', ...own }, {}, { labels }))

const NATIVE = { 'ridealong.dev/mode': 'native' }
const CONTAINER = { 'ridealong.dev/mode': 'container' }

t.test('a pod of Argo Workflows gets no observers, whatever the mode', async (t) => {
  const labels = { 'workflows.argoproj.io/workflow': 'hello-x7k2p' }
  for (const mode of [NATIVE, CONTAINER]) {
    const { word, message, observers } = asking(labels, mode)
    t.equal(word, 'operator-conflict')
    t.match(message, /^Argo Workflows created this pod: .*process 1/)
    t.notMatch(message, 'mode: native', 'the message suggests no remedy')
    t.strictSame(observers, {})
  }
})

t.test('a pod of netperf-operator or of Volcano gets no observers in mode container', async (t) => {
  const rows: [string, Texts][] = [
    ['netperf-operator', { app: 'netperf-operator' }],
    ['Volcano', { 'volcano.sh/job-name': 'lammps' }],
  ]
  for (const [operator, labels] of rows) {
    t.equal(asking(labels).word, 'injected', `${operator} in the default mode`)
    t.equal(asking(labels, NATIVE).word, 'injected', `${operator} in mode native`)
    const { word, message } = asking(labels, CONTAINER)
    t.equal(word, 'operator-conflict', `${operator} in mode container`)
    t.match(message, operator, 'the message names the operator')
    t.match(message, 'use ridealong.dev/mode: native', 'the message names the remedy')
  }
})

t.test('a trial of Katib gets no observers in mode native', async (t) => {
  const labels = { 'katib.kubeflow.org/trial': 'trial-a7', 'katib.kubeflow.org/experiment': 'e' }
  for (const mode of [{}, NATIVE]) {
    const { word, message } = asking(labels, mode)
    t.equal(word, 'operator-conflict')
    t.match(message, /^Katib created this pod: .*; use ridealong\.dev\/mode: container$/)
  }
  t.equal(asking(labels, CONTAINER).word, 'injected')
  const experiment = { 'katib.kubeflow.org/experiment': 'e' }
  t.equal(asking(experiment).word, 'injected', 'a pod of an experiment that is no trial')
})

t.test('a pod with the XCom sidecar of Airflow gets no observers', async (t) => {
  const containers = [{ name: 'base' }, { name: 'airflow-xcom-sidecar' }]
  for (const mode of [NATIVE, CONTAINER]) {
    const asks = { 'ridealong.dev/inject': 'perf-sysstat', ...mode }
    const { word, message } = ride(podOf(asks, { containers }))
    t.equal(word, 'operator-conflict')
    t.match(message, /^Airflow created this pod: .*process 1 of its XCom sidecar/)
    const [base] = containers
    t.equal(ride(podOf(asks, { containers: [base] })).word, 'injected', 'a pod without XCom')
  }
})

t.test('an executor of Spark before 3.5.4 gets no observers in mode container', async (t) => {
  const executor = { 'spark-role': 'executor' }
  const versions = [undefined, '', 'x', '2.4.8', '3.3.0', '3.5.3', '3.5.3-amzn-0']
  for (const version of versions) {
    const labels = { ...executor, 'spark-version': version }
    t.equal(asking(labels, NATIVE).word, 'injected')
    const { word, message } = asking(labels, CONTAINER)
    t.equal(word, 'operator-conflict', `version ${version}`)
    t.match(message, /^Spark created this pod: before version 3\.5\.4, .*; use .*mode: native$/)
  }
  for (const version of ['3.5.4', '3.5.10', '3.6.0', '4.0.0', '4.1.0-preview1', '10.0'])
    t.equal(asking({ ...executor, 'spark-version': version }, CONTAINER).word, 'injected', version)
  t.equal(asking({ 'spark-role': 'driver' }, CONTAINER).word, 'injected')
})

t.test(
  'a conflict needs the exact key of a label and, for netperf-operator, the exact value',
  async (t) => {
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
    t.equal(asking(empty).word, 'operator-conflict', 'a label with an empty value matches')
    const both = { app: 'netperf-operator', 'volcano.sh/job-name': 'j' }
    t.equal(asking(both, CONTAINER).word, 'operator-conflict')
  },
)

t.test('an annotation with the key of a label of an operator is no conflict', async (t) => {
  const { word } = asking({}, { 'workflows.argoproj.io/workflow': 'w' })
  t.equal(word, 'injected')
})
