import t from 'tap'
import { readRecording } from '../../../../cli/shared/recording.ts'
import { buildReviewer } from '../../../../cli/shared/settings.ts'
import { asFields } from '../../../../src/core/kubernetes/json.ts'
import { applied } from '../../../../src/core/patch.ts'
import { readManifests } from '../../../../src/pods/manifest/read.ts'
import { findResources } from '../../../../src/pods/manifest/resources.ts'
import { buildReview } from '../../../../src/pods/manifest/static-pod.ts'
import { findTemplates } from '../../../../src/pods/manifest/templates.ts'
import { CASE_NAMESPACES, reviewFile } from '../../../cases/read.ts'
import { type Json, mapOf, mapsOf } from '../../../properties/arbitrary.ts'
import { ALLOWED, injected, PERF, textOf, undone, WORKLOADS, workload } from './build.ts'

for (const name of WORKLOADS) {
  t.test(`undo reverts inject in ${name}, and a second inject changes nothing`, async (t) => {
    const text = workload(name)
    const once = textOf(injected(text))
    t.not(once, text, 'something is injected')
    t.equal(textOf(injected(once)), once)
    t.equal(undone(once), text)
    t.equal(undone(text), text)
  })

  t.test(`inject adds the same lines to ${name} with CRLF line ends`, async (t) => {
    const text = workload(name).replaceAll('\n', '\r\n')
    const once = textOf(injected(text))
    t.equal(once, textOf(injected(workload(name))).replaceAll('\n', '\r\n'))
    t.equal(undone(once), text)
  })

  t.test(`inject does not change ${name} if nothing in it requests observers`, async (t) => {
    const text = workload(name).replaceAll('ridealong.dev', 'example.com')
    t.equal(textOf(injected(text)), text)
  })

  t.test(`inject adds the same fields to ${name} in JSON`, async (t) => {
    const values = readManifests('a.yaml', workload(name)).map(({ value }) => value)
    for (const unit of [undefined, 2, '\t']) {
      const list = { apiVersion: 'v1', kind: 'List', items: values }
      const text = `${JSON.stringify(list, undefined, unit)}\n`
      const once = textOf(injected(text))
      t.strictSame(
        JSON.parse(once).items,
        readManifests('a', textOf(injected(workload(name)))).map(({ value }) => value),
      )
      t.equal(undone(once), text)
      if (unit !== undefined)
        t.equal(once, `${JSON.stringify(JSON.parse(once), undefined, unit)}\n`)
    }
  })
}

/**
 * The template from which the controller of a recorded pod created the pod. `name` is the name of
 * the object that contains the template, which is unique in the file. `template` is the number of
 * the template in this object, from 0.
 */
interface Twin {
  readonly file: string
  readonly name: string
  readonly template?: number
  /**
   * Whether the name of the owner is unknown before the owner exists, as for a ReplicaSet or a
   * CronJob's Job.
   */
  readonly isNamedLater?: true
}

const TWINS: Readonly<Record<string, Twin>> = {
  'job-indexed': { file: 'core.yaml', name: 'indexed' },
  cronjob: { file: 'core.yaml', name: 'cron', isNamedLater: true },
  'deployment-namespace-annotated': { file: 'core.yaml', name: 'web', isNamedLater: true },
  'statefulset-with-native-sidecar': { file: 'core.yaml', name: 'db' },
  'daemonset-host-pid': { file: 'core.yaml', name: 'agent' },
  'pod-not-asked': { file: 'core.yaml', name: 'bare' },
  'pod-opted-out': { file: 'core.yaml', name: 'optout' },
  'pod-windows': { file: 'core.yaml', name: 'windows' },
  'pod-restricted-namespace': { file: 'core.yaml', name: 'strict' },
  'pod-level-resources': { file: 'hard-cases.yaml', name: 'pod-level-resources' },
  'pod-guaranteed': { file: 'hard-cases.yaml', name: 'guaranteed' },
  'pod-unknown-metric': { file: 'hard-cases.yaml', name: 'unknown-metric' },
  'pod-invalid-option': { file: 'hard-cases.yaml', name: 'bad-option' },
  'pod-unknown-target-container': { file: 'hard-cases.yaml', name: 'wrong-target' },
  'pod-name-taken': { file: 'hard-cases.yaml', name: 'name-taken' },
  'pod-share-false': { file: 'hard-cases.yaml', name: 'share-false' },
  'pod-two-users': { file: 'hard-cases.yaml', name: 'two-users' },
  'jobset-leader': { file: 'operators.yaml', name: 'train' },
  'jobset-worker': { file: 'operators.yaml', name: 'train', template: 1 },
  'mpijob-launcher': { file: 'mpijob.yaml', name: 'pi' },
  'mpijob-worker': { file: 'mpijob.yaml', name: 'pi', template: 1 },
}

const answer = await buildReviewer({ namespaces: CASE_NAMESPACES })

/**
 * Returns the fields that an injection adds to a pod, without the suffix of the volume's name,
 * which is different in each review.
 */
function ridersOf(pod: unknown): Json {
  const { metadata, spec } = mapOf(pod)
  const { initContainers, containers, volumes, shareProcessNamespace } = mapOf(spec)
  const riders = [...mapsOf(initContainers), ...mapsOf(containers)].filter(({ env }) =>
    mapsOf(env).some(({ name }) => name === 'RIDEALONG_CATALOG'),
  )
  const covers = mapsOf(volumes).filter(({ name }) => String(name).startsWith('ridealong-'))
  const text = JSON.stringify({
    status: mapOf(mapOf(metadata).annotations)['ridealong.dev/status'],
    shareProcessNamespace: riders.length > 0 ? shareProcessNamespace : undefined,
    riders,
    covers,
  })
  return JSON.parse(text.replaceAll(/ridealong-no-token-\w+/g, 'ridealong-no-token'))
}

function withoutOwner(riders: Json): Json {
  const containers = mapsOf(riders.riders).map(({ env, ...container }) => {
    return { ...container, env: mapsOf(env).filter(({ name }) => name !== 'RIDEALONG_OWNER') }
  })
  return { ...riders, riders: containers }
}

for (const [name, twin] of Object.entries(TWINS)) {
  t.test(
    `inject adds the same fields to the template of ${name} as the webhook to the pod`,
    async (t) => {
      const review = await readRecording(reviewFile(name))
      const { decision, operations } = answer(review)
      const documents = injected(workload(twin.file))
      const outcomes = documents.flatMap((document) => document.outcomes)
      const own = outcomes.filter(({ resource }) => resource.name === twin.name)
      const mine = own[twin.template ?? 0]?.decision
      t.equal(mine?.outcome, decision.outcome)
      t.equal(
        mine !== undefined && 'reason' in mine && mine.reason,
        'reason' in decision && decision.reason,
      )
      if (decision.outcome !== 'injected') return
      const after = readManifests('a.yaml', textOf(documents)).flatMap(findResources)
      const templates = after
        .filter((resource) => resource.name === twin.name)
        .flatMap(findTemplates)
      const wanted = ridersOf(applied(review.object, operations))
      const got = ridersOf(templates[twin.template ?? 0]?.fields)
      t.strictSame(got, twin.isNamedLater ? withoutOwner(wanted) : wanted)
      t.ok(mapsOf(got.riders).length > 0)
    },
  )
}

t.test('the webhook does not change the pods of an injected template', async (t) => {
  for (const name of WORKLOADS) {
    const resources = readManifests('a.yaml', textOf(injected(workload(name)))).flatMap(
      findResources,
    )
    const whole = resources.flatMap(findTemplates).filter(({ fields }) => ridersOf(fields).status)
    t.ok(whole.length > 0)
    for (const template of whole) {
      const { decision, operations } = answer(buildReview(template, 'batch'))
      t.strictSame(operations, [])
      t.match(decision, { outcome: 'left' })
    }
  }
})

const POD = 'apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n'

t.test(
  'a pod with only limits stays Guaranteed, because the apiserver adds the requests',
  async (t) => {
    const resources = 'resources: {limits: {cpu: 1, memory: 1Gi}}'
    const out = textOf(injected(`${POD}  containers:\n  - name: a\n    ${resources}\n`, PERF))
    t.match(out, /requests:\n +cpu: 100m\n +memory: 32Mi\n +limits:\n +cpu: 100m\n +memory: 32Mi/)
  },
)

t.test('metadata is added before the spec of a template', async (t) => {
  const containers = '      containers:\n      - name: a\n'
  const template = `  template:\n    # of the pod\n    spec:\n${containers}`
  const text = `kind: Job\napiVersion: batch/v1\nspec:\n${template}`
  const out = textOf(injected(text, PERF))
  t.match(
    out,
    /\n {2}template:\n {4}# of the pod\n {4}metadata:\n {6}annotations:\n {8}ridealong.dev\/status: '.*'\n {4}spec:\n/,
  )
  t.equal(undone(out), text)
})

t.test('metadata is added to a pod, and the lines around it are unchanged', async (t) => {
  const text = 'apiVersion: v1\nkind: Pod # one\n\n# what runs\nspec:\n  containers:\n  - name: a\n'
  const out = textOf(injected(text, PERF))
  t.match(
    out,
    /\n# what runs\nmetadata:\n {2}annotations:\n {4}ridealong.dev\/status: '.*'\nspec:\n/,
  )
  t.equal(undone(out), text)
})

t.test('a block scalar at the end of a pod is unchanged', async (t) => {
  for (const mark of ['|', '|-', '|+', '>', '|2']) {
    for (const after of ['', '\n\n', '---\nkind: Service\n', 'status: {}\n', '# end\n']) {
      const script = `    args:\n    - ${mark}\n      sleep 1\n\n      sleep 2\n`
      const text = `${POD}  containers:\n  - name: a\n${script}${after}`
      const out = textOf(injected(text, PERF))
      t.match(out, `${script.trimEnd()}\n`)
      t.equal(undone(out), text, `undo restores ${JSON.stringify(mark + after)}`)
    }
  }
})

t.test('new lists are indented like the list of containers', async (t) => {
  const text = `${POD}    containers:\n      - name: a\n`
  t.match(textOf(injected(text, PERF)), /\n {4}volumes:\n {6}- name: ridealong/)
})

t.test('a comment after a replaced value stays on its line', async (t) => {
  const shares = '  shareProcessNamespace: no # yet\n'
  const text = `${POD}  volumes: [] # none\n${shares}  containers: [{name: a}] # one\n`
  const out = textOf(injected(text, PERF))
  t.match(
    out,
    /\n {2}volumes: # none\n {2}- name: ridealong-no-token-static\n {4}projected:\n {6}sources:\n {6}- downwardAPI: \{\}\n {2}share/,
  )
  t.match(out, '\n  shareProcessNamespace: true # yet\n')
  t.match(out, '\n  containers: [{name: a}] # one\n')
  t.equal(undone(out), text)
})

t.test('templates that share an anchor are injected together', async (t) => {
  const head = 'apiVersion: example.com/v1\nkind: Two\nspec:\n'
  const template = 'metadata: {name: x}\n    spec:\n      containers: [{name: a}]\n'
  const shared = `${head}  a: &t\n    ${template}  b: *t\n`
  const out = textOf(injected(shared, PERF))
  t.equal(out.match(/downwardAPI/g)?.length, 1)
  t.equal(undone(out), shared)
  const merged = `${head}  a: &t\n    ${template}  b:\n    <<: *t\n`
  t.equal(undone(textOf(injected(merged, PERF))), merged)
})

t.test('an anchor that would inject a template without an annotation is refused', async (t) => {
  const asks = 'annotations: {ridealong.dev/inject: perf-sysstat}'
  const text = `apiVersion: example.com/v1
kind: Two
spec:
  a: {metadata: {${asks}}, spec: {volumes: &v [{name: v}], containers: [{name: a}]}}
  b: {spec: {volumes: *v, containers: [{name: a}]}}
`
  t.throws(
    () => injected(text),
    /^a.yaml: document 1, line 1: cannot be edited .* anchors or merge keys/,
  )
})

t.test('an annotation that is set by an alias is read', async (t) => {
  const text = `apiVersion: v1
kind: Pod
metadata:
  labels: &ask {ridealong.dev/inject: io-sysstat}
  annotations: {<<: *ask}
spec: {containers: [{name: a}]}
`
  const out = textOf(injected(text))
  t.match(out, 'command: [io-sysstat]')
  t.equal(undone(out), text)
})

t.test('the volume of a second injection has another name', async (t) => {
  const text = `${POD}  containers:\n  - name: a\n`
  const first = textOf(injected(text, PERF))
  const second = textOf(injected(first, { 'ridealong.dev/inject': 'perf-sysstat,io-sysstat' }))
  t.match(second, 'name: ridealong-no-token-static\n')
  t.match(second, 'name: ridealong-no-token-static2\n')
  t.match(second, '"metrics":["perf-sysstat","io-sysstat"]')
  t.equal(undone(second), text)
})

for (const header of ['|', '|-', '|+', '>', '>-', '>+', '|2-', '>1+', '|+2 # why']) {
  for (const end of ['', '\n', '\n\n', '\n      ', '\n...', '\n# end']) {
    t.test(`undo restores a file that ends in ${header} and ${JSON.stringify(end)}`, async (t) => {
      const args = `    args:\n    - ${header}\n      sleep 1\n        x`
      for (const eol of ['\n', '\r\n']) {
        const text = `${POD}  containers:\n  - name: a\n${args}${end}`.replaceAll('\n', eol)
        const out = textOf(injected(text, PERF))
        t.match(out, 'name: perf-sysstat')
        t.equal(undone(out), text)
      }
    })
  }
}

t.test('a lost restartPolicy is restored, and undo still removes the observer', async (t) => {
  const text = `${POD}  containers:\n  - name: a\n`
  const whole = textOf(injected(text, PERF))
  const stripped = whole.replace('    restartPolicy: Always\n', '')
  t.not(stripped, whole)
  const [restored] = injected(stripped, PERF)
  t.equal(restored?.outcomes[0]?.decision.outcome, 'restored')
  t.match(restored?.text, 'restartPolicy: Always')
  t.equal(undone(restored?.text ?? ''), text)
})

t.test('undo removes no container because of a forged status annotation', async (t) => {
  const status = '{"outcome":"injected","metrics":["a","b"],"shareProcessNamespace":"true"}'
  const metadata = `metadata: {annotations: {x: y, ridealong.dev/status: '${status}'}}`
  const spec = 'spec: {containers: [{name: a}], initContainers: [{name: b}]}'
  const text = `apiVersion: v1\nkind: Pod\n${metadata}\n${spec}\n`
  t.equal(undone(text), text.replace(`, ridealong.dev/status: '${status}'`, ''))
})

/** Returns the JSON of a value with the keys of all objects sorted. */
function sortKeys(value: unknown): string {
  return JSON.stringify(value, (_, inner) => {
    const fields = asFields(inner)
    return fields === undefined
      ? inner
      : Object.fromEntries(Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1)))
  })
}

t.test('undo works on a pod whose keys are sorted, as in a cluster', async (t) => {
  const value = readManifests('a', textOf(injected(`${POD}  containers: [{name: a}]\n`, PERF)))[0]
    ?.value
  t.strictSame(JSON.parse(undone(sortKeys(value))), {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'a' },
    spec: { containers: [{ name: 'a' }] },
  })
})

const PROFILE = { 'ridealong.dev/inject': 'cpu-profile' }

t.test('a tool adds an init container, variables and mounts to block YAML', async (t) => {
  const init = '  initContainers:\n  # first\n  - name: fetch\n'
  const env = '    env: # of the run\n      - {name: LD_PRELOAD, value: /own.so} # own\n'
  const text = `${POD}${init}  containers:\n  - name: a\n${env}    # the end\n  - name: b\n`
  const out = textOf(injected(text, PROFILE, ALLOWED))
  t.match(
    out,
    /\n {2}# first\n {2}- name: cpu-profile-install\n {4}image: \S+\n[\s\S]*\n {2}- name: f/,
  )
  t.match(
    out,
    `# own
      - name: LD_PRELOAD
        value: $(LD_PRELOAD):/opt/ridealong/cpu-profile/loader.so
      - name: CPUPROFILE
        value: /var/opt/ridealong/cpu-profile
    volumeMounts:
    - name: ridealong-tool-cpu-profile-static
      subPath: tool
      mountPath: /opt/ridealong/cpu-profile
      readOnly: true
    - name: ridealong-tool-cpu-profile-static
      subPath: results
      mountPath: /var/opt/ridealong/cpu-profile
    # the end
  - name: b
`,
  )
  t.equal(undone(out), text)
})

t.test('undo removes the tools of two targets, each with its own earlier text', async (t) => {
  const env = 'env: [{name: LD_PRELOAD, value: /own.so}]'
  const a = `  - {name: a, ${env}, volumeMounts: []}\n`
  const b = '  - {name: b, env: [ ], volumeMounts: null}\n'
  const text = `${POD}  containers:\n${a}${b}`
  const first = textOf(injected(text, PROFILE, ALLOWED))
  const metrics = { 'ridealong.dev/inject': 'cpu-profile,mpi-trace' }
  const second = { ...metrics, 'ridealong.dev/target-container': 'b' }
  const both = textOf(injected(first, second, ALLOWED))
  t.match(both, '"variables":["a/LD_PRELOAD","a/CPUPROFILE","b/LD_PRELOAD","b/TRACE_DIR"]')
  t.match(both, '"before":{"b/env":" [ ]","b/volumeMounts":" null","a/volumeMounts":" []"}')
  t.equal(undone(both), text)
})

t.test('the template of a namespace that does not allow tools is unchanged', async (t) => {
  const text = `${POD}  containers: [{name: a}]\n`
  const [document] = injected(text, PROFILE, { ...ALLOWED, allowsTools: false })
  t.match(document?.outcomes[0]?.decision, { outcome: 'left', reason: 'tools-not-allowed' })
  t.notMatch(document?.text, 'cpu-profile-install')
  t.equal(undone(document?.text ?? ''), text)
})

t.test('an anchor by which another container would get the variables is refused', async (t) => {
  const second = '{name: b, env: *e}'
  const text = `${POD}  containers: [{name: a, env: &e [{name: A}]}, ${second}]\n`
  t.throws(() => injected(text, PROFILE, ALLOWED), /cannot be edited .* anchors or merge keys/)
})

t.test('undo removes a tool from a pod whose keys are sorted, as in a cluster', async (t) => {
  const env = 'env: [{name: LD_PRELOAD, value: /own.so}], volumeMounts: [{name: v, mountPath: /v}]'
  const text = `${POD}  containers: [{name: a, ${env}}]\n  volumes: [{name: v}]\n`
  const value = readManifests('a', textOf(injected(text, PROFILE, ALLOWED)))[0]?.value
  t.strictSame(JSON.parse(undone(sortKeys(value))), readManifests('a', text)[0]?.value)
})

t.test('undo changes no container that has no volume of a tool', async (t) => {
  const status = '{"outcome":"injected","metrics":["a"],"variables":["PATH"]}'
  const metadata = `metadata: {annotations: {x: y, ridealong.dev/status: '${status}'}}`
  const own = '{name: own, mountPath: /ridealong/volume}'
  const install = `{name: a-install, volumeMounts: [${own}]}`
  const spec = `spec: {initContainers: [${install}], containers: [{name: b, env: [{name: PATH}]}]}`
  const text = `apiVersion: v1\nkind: Pod\n${metadata}\n${spec}\n`
  t.equal(undone(text), text.replace(`, ridealong.dev/status: '${status}'`, ''))
})
