import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import jsonpatch from 'fast-json-patch'
import t from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { recorded, reviewFile } from '../../cases/read.ts'
import { ASKING, NAMESPACES, podOf, reviewOf } from '../../webhook/server.ts'
import { run } from '../command.ts'

const RANK = reviewFile('flux-minicluster-rank0')
const object = JSON.parse(recorded('flux-minicluster-rank0')).request.object
const LEFT = JSON.stringify(reviewOf(podOf({ 'ridealong.dev/inject': 'none-such' })))

t.test('review prints the decision for each file as a YAML document', async (t) => {
  const folder = t.testdir({ 'left.json': LEFT })
  const left = join(folder, 'left.json')
  const { code, out, err } = await run(['review', RANK, left])
  t.equal(code, 0)
  t.equal(err, '')
  const [first, second, ...others] = parseAllDocuments(out).map((document) => document.toJS())
  t.strictSame(others, [])
  t.match(first, {
    file: RANK,
    namespace: object.metadata.namespace,
    pod: String,
    outcome: 'injected',
    metrics: ['perf-sysstat', 'io-sysstat'],
    mode: 'native',
    target: String,
  })
  t.match(second, { file: left, outcome: 'left', reason: 'unknown-metric', message: /none-such/ })
  t.notMatch(out, /null|undefined/)
  t.strictSame(
    out,
    (await run(['review', '--output', 'decision', RANK, left])).out,
    '--output decision is the default',
  )
})

t.test(
  "--output response prints the webhook's answer for each file as one line of JSON",
  async (t) => {
    const { code, out } = await run(['review', '--output', 'response', RANK, RANK])
    t.equal(code, 0)
    const lines = out.trimEnd().split('\n')
    t.equal(lines.length, 2)
    t.match(JSON.parse(lines[0] ?? ''), {
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      response: {
        uid: JSON.parse(recorded('flux-minicluster-rank0')).request.uid,
        allowed: true,
        patchType: 'JSONPatch',
        patch: /^[A-Za-z0-9+/]+=*$/,
      },
    })
  },
)

t.test('the patch of --output patch changes the pod into the pod of --output pod', async (t) => {
  const [patch, pod] = await Promise.all([
    run(['review', '-o', 'patch', RANK]),
    run(['review', '-o', 'pod', RANK]),
  ])
  t.equal(patch.code, 0)
  t.equal(pod.code, 0)
  const operations = JSON.parse(patch.out)
  t.ok(operations.length > 0)
  const patched = jsonpatch.applyPatch(structuredClone(object), operations).newDocument
  t.match(pod.out, /^---\n/)
  t.strictSame(parse(pod.out), patched)
  t.match(patched.spec.initContainers.slice(-2), [{ name: 'perf-sysstat' }, { name: 'io-sysstat' }])
  t.strictSame(JSON.parse((await run(['review', '-o', 'patch', '-'], LEFT)).out)[0]?.op, 'add')
})

t.test('--output diff prints the added and removed lines, without colours in a pipe', async (t) => {
  const { code, out } = await run(['review', '-o', 'diff', RANK])
  t.equal(code, 0)
  t.ok(
    out.startsWith(
      `${RANK}: injected perf-sysstat, io-sysstat\n--- pod\n+++ pod with observers\n@@ `,
    ),
  )
  t.match(out, /\n\+ {2}- name: perf-sysstat\n/)
  t.match(out, /\n-\s+shareProcessNamespace: false\n\+\s+shareProcessNamespace: true\n/)
  t.notMatch(out, '\u001b')
})

t.test('the YAML output of review has no anchors and no aliases', async (t) => {
  for (const output of ['pod', 'diff', 'decision']) {
    const { out } = await run(['review', '-o', output, RANK])
    t.notMatch(out, /^[+ ]*(- |\w+: )[&*]\w+$/m, `--output ${output} has no anchors`)
  }
})

t.test(
  'for an unchanged pod, the diff and the patch are empty, and the pod is printed unchanged',
  async (t) => {
    const file = reviewFile('pod-not-asked')
    const [diff, patch, pod] = await Promise.all(
      ['diff', 'patch', 'pod'].map((output) => run(['review', '-o', output, file])),
    )
    t.equal(diff?.out, `${file}: left: not-asked\n`)
    t.equal(patch?.out, '[]\n')
    t.strictSame(parse(pod?.out ?? ''), JSON.parse(recorded('pod-not-asked')).request.object)
  },
)

t.test(
  'a shareProcessNamespace that another webhook changed after the injection is restored',
  async (t) => {
    const operations = JSON.parse((await run(['review', '-o', 'patch', RANK])).out)
    const pod = jsonpatch.applyPatch(structuredClone(object), operations).newDocument
    pod.spec.shareProcessNamespace = false
    const review = JSON.stringify(reviewOf(pod, { namespace: object.metadata.namespace }))
    const decision = await run(['review', '-'], review)
    t.match(parse(decision.out), { file: '-', outcome: 'restored' })
    t.match((await run(['review', '-o', 'diff', '-'], review)).out, /^-: restored\n--- pod\n/)
  },
)

t.test('ridealong review - reads a review from standard input', async (t) => {
  const { code, out } = await run(['review', '-'], JSON.stringify(reviewOf(ASKING)))
  t.equal(code, 0)
  t.match(parse(out), { file: '-', pod: 'lammps-0', outcome: 'injected' })
})

t.test(
  'the annotations of a Namespace in the file of --namespaces request observers',
  async (t) => {
    const folder = t.testdir({ 'ns.yaml': NAMESPACES })
    const review = JSON.stringify(reviewOf(podOf({}), { namespace: 'hpc' }))
    const outcomes = []
    for (const options of [[], ['--namespaces', join(folder, 'ns.yaml')]]) {
      const { out } = await run(['review', '-', ...options], review)
      outcomes.push(parse(out).outcome)
    }
    t.strictSame(outcomes, ['left', 'injected'])
  },
)

t.test(
  '--exclude-namespace excludes a namespace, and kube-system is excluded by default',
  async (t) => {
    const review = (namespace: string) => JSON.stringify(reviewOf(ASKING, { namespace }))
    const reason = async (namespace: string, ...options: string[]) =>
      parse((await run(['review', '-', ...options], review(namespace))).out).reason
    t.equal(await reason('kube-system'), 'excluded-namespace')
    t.equal(await reason('lab', '--exclude-namespace', 'lab', 'other'), 'excluded-namespace')
    t.equal(await reason('lab'), undefined)
  },
)

t.test('--pod-security-default applies to a namespace without a Pod Security label', async (t) => {
  const review = JSON.stringify(reviewOf(ASKING))
  const answer = async (...options: string[]) => {
    return parse((await run(['review', '-', ...options], review)).out)
  }
  t.match(await answer('--pod-security-default', 'baseline'), { outcome: 'injected' })
  t.match(await answer('--pod-security-default', 'restricted'), {
    outcome: 'left',
    reason: 'pod-security',
    message: /enforces Pod Security restricted \(the cluster's default\)/,
  })
  const { code, err } = await run(['review', '-', '--pod-security-default', 'strict'], review)
  t.equal(code, 2)
  t.match(err, /Allowed choices are restricted, baseline, privileged/)
})

const WRONG: readonly (readonly [string, string | undefined, RegExp])[] = [
  [
    'is missing',
    undefined,
    /^ridealong: cannot read .*x\.json: no such file or directory \(ENOENT\)/,
  ],
  ['is not JSON', 'kind: Pod', /^ridealong: .*x\.json is not JSON: /],
  ['is empty', '', /^ridealong: .*x\.json is not JSON: /],
  [
    'contains a pod',
    JSON.stringify(ASKING),
    /x\.json is not a valid AdmissionReview: kind must be /,
  ],
  ['contains a list', '[]', /x\.json is not a valid AdmissionReview: kind must be /],
  [
    'contains an AdmissionReview of an older version',
    LEFT.replace('k8s.io/v1', 'k8s.io/v1beta1'),
    /x\.json is not a valid AdmissionReview: apiVersion must be "admission\.k8s\.io\/v1"/,
  ],
  [
    'contains an AdmissionReview without a request',
    '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}',
    /x\.json is not a valid AdmissionReview: request must have uid and operation/,
  ],
]

for (const [what, text, sentence] of WRONG) {
  t.test(`a file that ${what} is reported with the problem`, async (t) => {
    const folder = t.testdir(text === undefined ? {} : { 'x.json': text })
    const { code, out, err } = await run(['review', join(folder, 'x.json')])
    t.equal(code, 2)
    t.equal(out, '')
    t.match(err, sentence)
    t.equal(err.split('\n').length, 2, 'the message is one line')
  })
}

t.test(
  'a folder instead of a file, invalid namespaces and an invalid catalog are reported',
  async (t) => {
    const folder = t.testdir({ 'ns.yaml': 'kind: Pod\n', 'syntax.yaml': 'a: [1' })
    mkdirSync(join(folder, 'dir'))
    writeFileSync(join(folder, 'x.json'), LEFT)
    const file = join(folder, 'x.json')
    for (const [args, sentence] of [
      [[folder], /^ridealong: cannot read \S+: .* \(EISDIR\)/],
      [[file, '--namespaces', join(folder, 'ns.yaml')], /^ridealong: .*ns\.yaml: document 1 /],
      [[file, '--namespaces', join(folder, 'syntax.yaml')], /^ridealong: .*syntax\.yaml: \S/],
      [[file, '--namespaces', join(folder, 'none.yaml')], /^ridealong: .*none\.yaml/],
      [[file, '--catalog', join(folder, 'none')], /^ridealong: .*none/],
      [[file, '--catalog', folder], /^ridealong: .*ns\.yaml: /],
    ] as const) {
      const { code, out, err } = await run(['review', ...args])
      t.equal(code, 2)
      t.equal(out, '')
      t.match(err, sentence)
    }
  },
)

t.test(
  'for a review without an object, --output pod prints neither null nor undefined',
  async (t) => {
    const file = reviewFile('pod-delete')
    const { code, out } = await run(['review', '-o', 'pod', file])
    t.equal(code, 0)
    t.notMatch(out, /null|undefined/)
    const { object: _, ...request } = JSON.parse(readFileSync(file, 'utf8')).request
    const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request }
    t.notMatch((await run(['review', '-o', 'pod', '-'], JSON.stringify(review))).out, 'undefined')
  },
)
