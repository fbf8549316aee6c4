import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parseAllDocuments } from 'yaml'
import { answerFile, CASE_NAMESPACES, reviewFile } from '../../cases/read.ts'
import { run, runInTerminal } from '../command.ts'

const FOLDER = fileURLToPath(new URL('../../workloads', import.meta.url))
const NAMESPACES = ['--namespaces', CASE_NAMESPACES]
const explain = (...words: readonly string[]) => run(['explain', '--offline', ...words])

t.test('explain prints the same outcome and reason as the golden file of a case', async (t) => {
  const files = [
    'pod-share-false',
    'pod-windows',
    'flux-minicluster-namespace-annotated',
    'pod-update',
  ]
  for (const name of files) {
    const answer = JSON.parse(readFileSync(answerFile(name), 'utf8'))
    const { code, out } = await explain('-f', reviewFile(name), '-o', 'json', ...NAMESPACES)
    t.equal(code, answer.outcome === 'injected' ? 0 : 1, `the exit code for ${name}`)
    const [{ outcome, reason }] = JSON.parse(out)
    t.strictSame({ outcome, reason }, { outcome: answer.outcome, reason: answer.reason })
  }
})

t.test('the text of explain ends with a conclusion and with advice', async (t) => {
  const { code, out } = await explain('-f', reviewFile('pod-windows'), ...NAMESPACES)
  t.equal(code, 1)
  t.match(
    out,
    /\nThe pod would be created without observers: Windows .*\.\nWhat to do: nothing: Windows .*\.\n$/,
  )
  t.match(out, /^ {2}no {7}system +Windows pods cannot share .* observers need$/m)
})

t.test(
  'explain wraps text in a terminal, and uses colours only in a terminal without NO_COLOR',
  async (t) => {
    const args = ['explain', '--offline', '-f', reviewFile('pod-windows'), ...NAMESPACES]
    const ansi = '\u001b'
    const coloured = (await runInTerminal(args, 80)).out
    t.match(coloured, `  ${ansi}[32mok     ${ansi}[39m  operation`)
    t.match(coloured, `  ${ansi}[31mno     ${ansi}[39m  system`)
    const plain = (await runInTerminal(args, 80, { NO_COLOR: '1' })).out
    t.notMatch(plain, ansi)
    t.match(plain, /\n {2}no {7}system +Windows pods cannot share .*\n {20,}\S/)
    for (const line of plain.split('\n')) t.ok(line.length <= 80, `at most 80 columns: ${line}`)
    t.notMatch((await run(args)).out, ansi)
  },
)

t.test('explain prints one document for each pod template of a manifest', async (t) => {
  const { code, out, err } = await explain('-f', `${FOLDER}/core.yaml`, '-o', 'yaml')
  t.equal(code, 1, err)
  const all = parseAllDocuments(out).map((document) => document.toJS())
  t.match(all[0], { subject: 'job/indexed', outcome: 'injected', cost: { pods: 2 } })
  t.match(
    all.find(({ subject }) => subject === 'daemonset/agent'),
    { reason: 'host-pid' },
  )
})

t.test(
  'unusable input, wrong options and an unreachable cluster are reported, with exit code 2',
  async (t) => {
    const data = 'apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: m}\n'
    t.match(await run(['explain', '--offline', '-f', '-'], data), {
      code: 2,
      out: '',
      err: /ServiceMonitor m: this kind is unknown, .*\n.*no object is known to create pods\n$/,
    })
    const both = 'ridealong: name either KIND/NAME, such as job/lammps, or -f FILE\n'
    t.match(await run(['explain']), { code: 2, err: both })
    t.match(await run(['explain', 'pod/a', '-f', 'b']), { code: 2, err: both })
    t.match(await run(['explain', '--offline', '-f', '-'], 'a: ['), {
      code: 2,
      err: /^ridealong: standard input: document 1, line /,
    })
    t.match(await run(['explain', 'pod/a', '--kubeconfig', '/nowhere']), {
      code: 2,
      err: /^ridealong: .*\/nowhere/,
    })
    const folder = t.testdir({
      kubeconfig: JSON.stringify({
        clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }],
        contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
        users: [{ name: 'u', user: {} }],
        'current-context': 'c',
      }),
    })
    const silent = ['--kubeconfig', `${folder}/kubeconfig`]
    t.match(await run(['explain', 'pod/a', ...silent]), {
      code: 2,
      err: /^ridealong: the cluster does not answer: .*ECONNREFUSED/,
    })
  },
)

/** Kinds without a pod template, each with a spec, its pods, and a name that all pods have. */
const OPERATED: readonly (readonly [string, string, readonly string[], string])[] = [
  [
    'flux-framework.org/v1alpha2/MiniCluster',
    '{size: 2, containers: [{image: a, command: lmp}]}',
    ['minicluster/a'],
    'a',
  ],
  ['flux-framework.org/v1alpha2/MetricSet', '{pods: 2}', ['metricset/a'], 'launcher'],
  [
    'sparkoperator.k8s.io/v1beta2/SparkApplication',
    '{driver: {cores: 1}, executor: {instances: 3}}',
    ['sparkapplication/a, spec.driver', 'sparkapplication/a, spec.executor'],
    '',
  ],
  [
    'spark.apache.org/v1/SparkApplication',
    '{sparkConf: {a: b}}',
    ['sparkapplication/a, driver', 'sparkapplication/a, executor'],
    'spark-kubernetes-driver',
  ],
  [
    'tekton.dev/v1/TaskRun',
    '{taskSpec: {steps: [{name: build, image: a}]}}',
    ['taskrun/a'],
    'step-build',
  ],
  [
    'serving.knative.dev/v1/Service',
    '{template: {spec: {containers: [{image: a}]}}}',
    ['service/a'],
    'user-container',
  ],
  [
    'serving.kserve.io/v1beta1/InferenceService',
    '{predictor: {model: {modelFormat: {name: sklearn}}}}',
    ['inferenceservice/a'],
    'kserve-container',
  ],
  [
    'kubeflow.org/v1/Notebook',
    '{template: {spec: {containers: [{name: lab, image: a}]}}}',
    ['notebook/a'],
    'lab',
  ],
  [
    'sparkoperator.k8s.io/v1alpha1/SparkConnect',
    '{server: {cores: 1}, executor: {instances: 3}}',
    ['sparkconnect/a, spec.server.template.metadata', 'sparkconnect/a, executor'],
    '',
  ],
  ['apps.nvidia.com/v1alpha1/NIMService', '{replicas: 1}', ['nimservice/a'], 'a-ctr'],
  [
    'flink.apache.org/v1beta1/FlinkDeployment',
    '{image: a}',
    ['flinkdeployment/a'],
    'flink-main-container',
  ],
  ['trainer.kubeflow.org/v1alpha1/TrainJob', '{}', ['trainjob/a'], 'node'],
]

for (const [name, spec, subjects, container] of OPERATED) {
  const [group, version, kind] = name.split('/')
  t.test(`explain explains the pods of an annotated ${kind} of ${group}`, async (t) => {
    const head = `apiVersion: ${group}/${version}\nkind: ${kind}\nmetadata: {name: a}\n`
    const text = `${head}spec: ${spec}\n`
    const silent = await run(['explain', '--offline', '-f', '-'], text)
    t.match(silent, { code: 1, err: '' }, 'nothing is requested')
    const target = `ridealong.dev/target-container=${container}`
    const more = container === '' ? [] : ['--annotation', target]
    const { out } = await run(['annotate', '-f', '-', '--metric', 'perf-sysstat', ...more], text)
    const { code, out: json } = await run(['explain', '--offline', '-f', '-', '-o', 'json'], out)
    t.equal(code, 0)
    const explanations: readonly { readonly subject: string }[] = JSON.parse(json)
    t.strictSame(
      explanations.map(({ subject }) => subject),
      subjects,
    )
    for (const explanation of explanations) t.match(explanation, { outcome: 'injected' })
  })
}

t.test('explain finds a wrong container of a kind whose containers are all known', async (t) => {
  const text = `apiVersion: flux-framework.org/v1alpha2
kind: MiniCluster
metadata: {name: a}
spec:
  size: 2
  containers: [{image: a}]
  pod:
    annotations:
      ridealong.dev/inject: perf-sysstat
      ridealong.dev/target-container: b
`
  const { code, out } = await run(['explain', '--offline', '-f', '-', '-o', 'json'], text)
  t.equal(code, 1)
  t.match(JSON.parse(out), [{ reason: 'unknown-target-container' }])
})

t.test('explain says that pods of Argo Workflows cannot be observed', async (t) => {
  const text = `apiVersion: v1
kind: Namespace
metadata: {name: hpc, annotations: {ridealong.dev/inject: perf-sysstat}}
---
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: a, namespace: hpc}
spec: {entrypoint: main}
`
  const { code, out } = await run(['explain', '--offline', '-f', '-', '-o', 'json'], text)
  t.equal(code, 1)
  t.match(JSON.parse(out), [{ subject: 'workflow/a', reason: 'operator-conflict' }])
})

const INDEXED = `apiVersion: batch/v1
kind: Job
metadata: {name: indexed}
spec:
  completionMode: Indexed
  completions: 20
  parallelism: 20
  template:
    metadata:
      annotations:
        ridealong.dev/inject: perf-sysstat
        ridealong.dev/pods: 5-7
    spec: {containers: [{name: a}]}
`

t.test('of a template, explain says that the index of each pod decides', async (t) => {
  const { code, out } = await run(['explain', '--offline', '-f', '-'], INDEXED)
  t.equal(code, 0)
  t.match(out, /^ {2}look {5}selection +decided for each pod when it is created$/m)
  t.match(out, /^ {2}ok {7}request +perf-sysstat \(.*\); .*; pods 5-7; on error admit$/m)
  t.match(
    out,
    'The pod would be injected with perf-sysstat if the webhook is called, depending on its index.',
  )
  t.match(out, 'observers per pod: ', 'the cost is that of one observed pod')
  const wrong = await run(['explain', '--offline', '-f', '-'], INDEXED.replace('5-7', '7-5'))
  t.match(wrong.out, 'annotation ridealong.dev/pods: "7-5" is not a pod index such as 3')
})

t.test(
  'of a pod, explain gives the selection and the metrics that apply to other pods',
  async (t) => {
    const labels = 'labels: {batch.kubernetes.io/job-completion-index: "6"}'
    const pod = (pods: string, more: string) =>
      'apiVersion: v1\nkind: Pod\nspec: {containers: [{name: a}]}\nmetadata:\n  name: a\n' +
      `  ${labels}\n  annotations:\n    ridealong.dev/inject: perf-sysstat,io-sysstat\n` +
      `    ridealong.dev/pods: ${pods}\n${more}`
    const words = ['explain', '--offline', '-f', '-']
    const selected = await run(words, pod('5-7', ''))
    t.match(selected.out, /^ {2}ok {7}selection +the pod is selected$/m)
    const other = await run(words, pod('5-7', '    io-sysstat.ridealong.dev/pods: every:4\n'))
    t.equal(other.code, 0)
    t.match(
      other.out,
      /selection +without io-sysstat: annotation io-sysstat\.ridealong\.dev\/pods: every:4 does not /,
    )
    t.match(other.out, 'The pod would be injected with perf-sysstat if the webhook is called.')
    const left = await run(words, pod('every:4', ''))
    t.equal(left.code, 1)
    t.match(left.out, /^ {2}no {7}selection +annotation .*: every:4 does not select pod 6$/m)
    t.match(left.out, 'What to do: nothing, if the observers of other pods are enough; ')
  },
)
