import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parseAllDocuments } from 'yaml'
import { run } from '../command.ts'

const OPERATORS = fileURLToPath(new URL('../../workloads/operators.yaml', import.meta.url))

t.test(
  'a MiniCluster is annotated in spec.pod.annotations, which its operator copies to the pods',
  async (t) => {
    const more = ['--annotation', 'ridealong.dev/target-command=^l.p$', '--include', 'MiniCluster']
    const { code, out, err } = await run([
      'annotate',
      '-f',
      OPERATORS,
      '--metric',
      'io-sysstat',
      ...more,
    ])
    t.strictSame({ code, err }, { code: 0, err: '' })
    const documents = parseAllDocuments(out).map((document) => document.toJS())
    t.equal(documents.length, 3)
    for (const { spec } of documents) {
      t.match(spec.pod.annotations, {
        'ridealong.dev/inject': 'io-sysstat',
        'ridealong.dev/target-command': '^l.p$',
      })
    }
    t.match(out, /\n {2}pod:\n {4}annotations:\n {6}ridealong\.dev\/inject: io-sysstat\n/)
  },
)

t.test('without --metric, the annotation requests the default metrics, in quotes', async (t) => {
  const only = ['--include', 'JobSet']
  const { code, out, err } = await run(['annotate', '-f', OPERATORS, ...only])
  t.strictSame({ code, err }, { code: 0, err: '' })
  t.match(out, /[ {]ridealong\.dev\/inject: "true"/)
  const named = await run(['annotate', '-f', OPERATORS, ...only, '--metric', 'enabled,io-sysstat'])
  t.match(named.out, /[ {]ridealong\.dev\/inject: "?enabled,io-sysstat/)
  const written = ['--annotation', 'ridealong.dev/inject=io-sysstat']
  const own = await run(['annotate', '-f', OPERATORS, ...only, ...written])
  t.match(own.out, /[ {]ridealong\.dev\/inject: io-sysstat/, 'an annotation replaces the default')
})

t.test('annotate, inject and explain name the line of a value without quotes', async (t) => {
  const text = `kind: Pod
metadata: {name: a, annotations: {a: b,
  ridealong.dev/inject: true}}
spec: {containers: [{name: app}]}
`
  for (const verb of ['annotate', 'inject', 'explain']) {
    const { code, out, err } = await run([verb, '-f', '-', '--offline'], text)
    t.strictSame({ code, out }, { code: 2, out: '' }, verb)
    t.match(err, /standard input: document 1, line 3: ridealong\.dev\/inject: true is a boolean/)
    t.match(err, /write "true", with quotes\n$/)
  }
})

t.test(
  'a document that cannot be annotated is reported and printed, and the exit code is 0',
  async (t) => {
    const { code, out, err } = await run(['annotate', '-f', OPERATORS, '--metric', 'perf-sysstat'])
    t.equal(code, 0)
    t.equal(err.split('\n').length, 2)
    t.match(err, /document 8, line 89: Lolcow lolcow-pod: .*; annotate the namespace\n$/)
    t.match(out, 'kind: Lolcow')
  },
)

t.test('nothing is printed if no document could be annotated', async (t) => {
  const args = ['annotate', '-f', OPERATORS, '--metric', 'perf-sysstat', '--include', 'Lolcow']
  const { code, out, err } = await run(args)
  t.strictSame({ code, out }, { code: 2, out: '' })
  t.match(err, /\nridealong: no document was annotated\n$/)
})

t.test('the reason why no document was annotated is reported', async (t) => {
  const reasons: readonly (readonly [string, RegExp])[] = [
    ['a: b\n', /document 1, line 1: it is not an object of Kubernetes: it must be a map with a/],
    ['- a\n', /document 1, line 1: it is not an object of Kubernetes: it must be a map with a/],
    ['apiVersion: v1\nkind: ConfigMap\n', /ConfigMap: it creates no pods/],
    ['apiVersion: v1\nkind: Namespace\n', /; Namespaces are annotated only with --include Namesp/],
  ]
  for (const [text, reason] of reasons) {
    const { code, err } = await run(['annotate', '-f', '-', '--metric', 'perf-sysstat'], text)
    t.equal(code, 2)
    t.match(err, reason)
    const [last] = err.trimEnd().split('\n').slice(-1)
    t.match(last, /^ridealong: no document was annotated/)
  }
})

t.test('a Namespace is annotated if --include selects it', async (t) => {
  const args = ['annotate', '-f', OPERATORS, '--metric', 'perf-sysstat', '--include', 'namespace']
  const { code, out } = await run(args)
  t.equal(code, 0)
  t.match(out, 'metadata: {name: flux, annotations: {ridealong.dev/inject: perf-sysstat}}\n---\n')
})

t.test(
  'an invalid annotation or an invalid metric is reported, and nothing is printed',
  async (t) => {
    const wrong: readonly (readonly [readonly string[], RegExp])[] = [
      [['--metric', 'perf'], /unknown-metric/],
      [
        ['--metric', 'perf-sysstat', '--annotation', 'perf-sysstat.ridealong.dev/rate=0'],
        /invalid-option/,
      ],
      [['--metric', 'perf-sysstat', '--annotation', 'ridealong.dev/mod=native'], /invalid-option/],
      [['--metric', 'true,false'], /"false" cannot be in a list with other items/],
    ]
    for (const [args, sentence] of wrong) {
      const { code, out, err } = await run(['annotate', '-f', OPERATORS, ...args])
      t.strictSame({ code, out }, { code: 2, out: '' })
      t.match(err, sentence)
    }
  },
)

t.test(
  'a Namespace in the files that does not allow the tool of a metric is reported',
  async (t) => {
    const folder = t.testdir({
      catalog: { 'profile.yaml': PROFILE },
      'a.yaml': `${NAMESPACES}${jobIn('closed')}${jobIn('open')}${jobIn('elsewhere')}`,
    })
    const files = ['--catalog', `${folder}/catalog`, '-f', `${folder}/a.yaml`]
    const { code, err } = await run(['annotate', ...files, '--metric', 'profile'])
    t.equal(code, 0)
    t.equal(
      err,
      `ridealong: ${folder}/a.yaml: document 1, line 1: Namespace closed: ` +
        'pods get profile only with the label ridealong.dev/tools: "true"\n' +
        'ridealong: namespace elsewhere: ' +
        'pods get profile only with the label ridealong.dev/tools: "true"\n',
    )
    const other = await run(['annotate', ...files, '--metric', 'perf-sysstat'])
    t.strictSame({ code: other.code, err: other.err }, { code: 0, err: '' })
  },
)

const NAMESPACES = `apiVersion: v1
kind: Namespace
metadata: {name: closed}
---
apiVersion: v1
kind: Namespace
metadata: {name: open, labels: {ridealong.dev/tools: "true"}}
---
apiVersion: v1
kind: Namespace
metadata: {name: unrelated}
`

function jobIn(namespace: string): string {
  const spec = '{template: {spec: {containers: [{name: a}]}}}'
  const metadata = `{name: a, namespace: ${namespace}}`
  return `---\napiVersion: batch/v1\nkind: Job\nmetadata: ${metadata}\nspec: ${spec}\n`
}

const PROFILE = `apiVersion: ridealong.dev/v1alpha1
kind: Metric
metadata: {name: profile}
spec:
  description: a profile
  privilege: restricted
  tool:
    installer:
      image: registry.example/profile:1
      resources: {limits: {cpu: 100m, memory: 32Mi}}
    sizeLimit: 64Mi
    mounts: [{subPath: tool, mountPath: /opt/profile}]
    results: {subPath: results, mountPath: /var/opt/profile}
    variables: [{name: LD_PRELOAD, value: /opt/profile/a.so, separator: ':'}]
  container:
    image: registry.example/observer:1
    resources: {limits: {cpu: 100m, memory: 32Mi}}
`

t.test(
  'an object whose pods have no index is reported if the annotations select pods',
  async (t) => {
    const at = (kind: string, apiVersion: string, spec: string) =>
      `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: a}\nspec: ${spec}\n`
    const template = 'template: {spec: {containers: [{name: a}]}}'
    const notes = async (document: string, annotation: string) => {
      const args = ['annotate', '-f', '-', '--metric', 'perf-sysstat', '--annotation', annotation]
      const { code, out, err } = await run(args, document)
      t.equal(code, 0)
      t.match(out, annotation.replace('=', ': '))
      return err
    }
    const pods = 'ridealong.dev/pods=every:4'
    const job = await notes(at('Job', 'batch/v1', `{${template}}`), pods)
    t.match(
      job,
      'Job a: its pods have no index, so ridealong.dev/pods selects none of them: the Job needs ' +
        'completionMode: Indexed\n',
    )
    const cron = at('CronJob', 'batch/v1', `{jobTemplate: {spec: {${template}}}}`)
    t.match(await notes(cron, pods), 'CronJob a: its pods have no index')
    const deployment = at('Deployment', 'apps/v1', `{${template}}`)
    const own = 'perf-sysstat.ridealong.dev/pods=0-3'
    t.match(
      await notes(deployment, own),
      'so perf-sysstat.ridealong.dev/pods selects none of them: a Deployment does not number ' +
        'its pods\n',
    )
    t.equal(await notes(deployment, 'ridealong.dev/target-command=lmp'), '')
    const scaled = (mode: string) =>
      at('ScaledJob', 'keda.sh/v1alpha1', `{jobTargetRef: {${mode}${template}}}`)
    t.match(await notes(scaled(''), pods), 'ScaledJob a: its pods have no index')
    t.equal(await notes(scaled('completionMode: Indexed, '), pods), '')
    const spark = at(
      'SparkApplication',
      'sparkoperator.k8s.io/v1beta2',
      '{driver: {}, executor: {}}',
    )
    t.match(await notes(spark, pods), 'a SparkApplication does not number its pods')
    const indexed = at('Job', 'batch/v1', `{completionMode: Indexed, ${template}}`)
    t.equal(await notes(indexed, pods), '')
    t.equal(await notes(at('StatefulSet', 'apps/v1', `{${template}}`), pods), '')
  },
)

t.test('--pods writes the annotation that selects pods, and validates it', async (t) => {
  const args = ['annotate', '-f', OPERATORS, '--metric', 'perf-sysstat', '--include', 'MPIJob']
  const mpi = OPERATORS.replace('operators', 'mpijob')
  const { code, out, err } = await run([...args.with(2, mpi), '--pods', 'launcher,every:16'])
  t.strictSame({ code, err }, { code: 0, err: '' })
  t.equal(out.match(/ridealong\.dev\/pods: "launcher,every:16"\}\}\n/g)?.length, 2)
  const wrong = await run([...args.with(2, mpi), '--pods', 'every:0'])
  t.strictSame({ code: wrong.code, out: wrong.out }, { code: 2, out: '' })
  t.match(
    wrong.err,
    'invalid-option: annotation ridealong.dev/pods: "every:0" is not a pod index such',
  )
})

t.test('annotate says that the namespace of the pods needs the label for tools', async (t) => {
  const words = ['annotate', '--offline', '-f', '-']
  const job = jobIn('hpc').replace(', namespace: hpc', '')
  const sentence = 'pods get mpi-trace only with the label ridealong.dev/tools: "true"'
  const { err } = await run([...words, '--metric', 'true,mpi-trace'], job)
  t.equal(err, `ridealong: the namespace of the pods: ${sentence}\n`)
  t.equal((await run([...words, '--metric', 'true'], job)).err, '')
})

t.test('annotate --undo removes the annotations, and says if there are none', async (t) => {
  const undo = (...words: readonly string[]) => run(['annotate', '--undo', '-f', ...words])
  const annotated = await run(['annotate', '--offline', '-f', OPERATORS, '--metric', 'vitals'])
  const folder = t.testdir({ 'annotated.yaml': annotated.out, 'job.yaml': jobIn('hpc') })
  const undone = await undo(`${folder}/annotated.yaml`)
  t.match(annotated.out, 'vitals')
  t.notMatch(undone.out, 'vitals')
  const documents = (text: string) => parseAllDocuments(text).map((document) => document.toJS())
  t.strictSame(documents(undone.out), documents((await undo(OPERATORS)).out))
  t.equal(undone.err, '')
  t.strictSame(await undo(`${folder}/job.yaml`), {
    code: 0,
    out: jobIn('hpc'),
    err: 'ridealong: no annotation of Ridealong was found; nothing was changed\n',
  })
  t.match(await undo(`${folder}/job.yaml`, '--metric', 'vitals'), {
    code: 2,
    err: /'--undo' cannot be used with option '--metric/,
  })
})

const TEMPLATE = 'template: {spec: {containers: [{name: m, image: i}]}}'
const KINDS = `apiVersion: batch/v1
kind: Job
metadata: {name: a}
spec: {${TEMPLATE}}
---
apiVersion: kaito.sh/v1beta1
kind: Workspace
metadata: {name: b}
resource: {instanceType: x}
inference: {${TEMPLATE}}
---
apiVersion: flinkoperator.k8s.io/v1beta1
kind: FlinkCluster
metadata: {name: c}
spec: {taskManager: {replicas: 2, sidecars: [{name: s, image: i}]}}
---
apiVersion: flink.k8s.io/v1beta1
kind: FlinkApplication
metadata: {name: d}
spec: {image: x}
`

t.test('annotate, inject and explain -f name each object of an unknown kind', async (t) => {
  const verbs: readonly (readonly [string, string])[] = [
    ['annotate', 'annotated'],
    ['inject', 'changed'],
    ['explain', 'explained'],
  ]
  for (const [verb, past] of verbs) {
    const { code, out, err } = await run([verb, '--offline', '-f', '-'], KINDS)
    t.equal(code, 1, verb)
    t.match(out, verb === 'explain' ? 'job/a' : KINDS.slice(-80))
    t.match(err, /Workspace b: this kind is unknown; .*may also create pods from other fields\n/)
    t.match(err, `FlinkCluster c: this kind is unknown; not ${past}: spec.taskManager.sidecars; `)
    t.match(err, 'FlinkApplication d: this kind is unknown, and the object has no pod template; ')
  }
})

t.test('an object whose pods were missed is printed, and the exit code is 1', async (t) => {
  const cluster = KINDS.split('---\n')[2]
  for (const verb of ['annotate', 'inject']) {
    const { code, out, err } = await run([verb, '--offline', '-f', '-'], cluster)
    t.strictSame({ code, out }, { code: 1, out: cluster }, verb)
    t.match(err, /^ridealong: [^\n]*: FlinkCluster c: this kind is unknown; [^\n]*\n$/)
  }
  const explained = await run(['explain', '--offline', '-f', '-', '-o', 'json'], cluster)
  t.match(explained, { code: 1, out: '[]\n', err: 'not explained: spec.taskManager.sidecars' })
})

t.test('an unknown kind without containers is a failure with --strict only', async (t) => {
  const [job, , , other] = KINDS.split('---\n')
  for (const verb of ['annotate', 'inject']) {
    const words = [verb, '--offline', '-f', '-']
    const text = `${job}---\n${other}`
    const { code, out } = await run(words, text)
    t.equal(code, 0, verb)
    t.match(await run([...words, '--strict'], text), { code: 1, out })
    t.equal((await run([...words, '--strict'], job)).code, 0)
  }
})

t.test('a known kind without a usable pod template is a failure with --strict only', async (t) => {
  const replicas = '{Worker: {template: {spec: {containers: [{image: i}]}}}}'
  const spec = `spec: {pytorchReplicaSpecs: ${replicas}}`
  const torch = `apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: p}\n${spec}\n`
  const text = `${KINDS.split('---\n')[0]}---\n${torch}`
  for (const verb of ['annotate', 'inject']) {
    const { code, out, err } = await run([verb, '--offline', '-f', '-'], text)
    t.equal(code, 0, verb)
    t.match(err, 'PyTorchJob p: ')
    t.match(await run([verb, '--offline', '-f', '-', '--strict'], text), { code: 1, out, err })
  }
  const asks = text.replace(
    'template: {',
    'template: {metadata: {annotations: {ridealong.dev/inject: "true"}}, ',
  )
  const explain = ['explain', '--offline', '-f', '-']
  t.match(await run(explain, asks), { code: 0, err: 'PyTorchJob p: left: ' })
  t.equal((await run([...explain, '--strict'], asks)).code, 1)
})

t.test('a kind that Kubernetes no longer serves is not said to create no pods', async (t) => {
  const old = `apiVersion: extensions/v1beta1\nkind: Deployment\nspec: {${TEMPLATE}}\n`
  const { code, err } = await run(['annotate', '--offline', '-f', '-'], old)
  t.equal(code, 2)
  t.match(
    err,
    'Deployment: Kubernetes 1.16 and later do not serve extensions/v1beta1; write apps/v1',
  )
})

t.test('messages name an object by the prefix of its name', async (t) => {
  const job = KINDS.split('---')[0]?.replace('{name: a}', '{generateName: solve-}')
  const words = ['--offline', '-f', '-']
  t.match((await run(['explain', ...words], job)).out, 'job/solve-...')
  t.match((await run(['inject', ...words], job)).err, 'Job solve-...: left: not-asked')
  const selected = await run(['annotate', ...words, '--pods', '0'], job)
  t.match(selected.err, 'Job solve-...: its pods have no index')
})
