import { readFileSync } from 'node:fs'
import t from 'tap'
import { makeAuthority } from '../../../../certs/make.ts'
import { type Catalog, imagesOf } from '../../../../src/core/catalog.ts'
import type { InstallationCheck } from '../../../../src/pods/doctor/check.ts'
import { examine, overallOutcome } from '../../../../src/pods/doctor/examine.ts'
import {
  type Installation,
  type Release,
  readHeldImages,
} from '../../../../src/pods/doctor/installation.ts'
import { askingPod, metricToAsk } from '../../../../src/pods/doctor/probe.ts'
import { shown } from '../../../../src/pods/doctor/show.ts'
import type { WebhookFacts } from '../../../../src/pods/explain/facts.ts'
import { readManifests } from '../../../../src/pods/manifest/read.ts'
import { documentOf, linesOf } from '../../../output.ts'
import { CATALOG, type Json, ride } from '../../core/build.ts'
import { configuration, NOW } from '../explain/build.ts'

const HOST = 'ridealong.ridealong-system.svc'
const SERVICE = { service: { name: 'ridealong', namespace: 'ridealong-system' } }
const IMAGE = 'registry.example/observer:1'

const authority = await makeAuthority()
const { cert } = await authority.issue({ names: [HOST], days: 90 })
const other = await makeAuthority()
const elsewhere = await authority.issue({ names: ['elsewhere.example'], days: 90 })

/** Returns the chart's configuration. `change` can change each webhook. */
function configured(ca: string, change: (webhook: Json) => Json = (webhook) => webhook): Json {
  const labels = { 'app.kubernetes.io/instance': 'ridealong', 'app.kubernetes.io/version': '0.1.0' }
  const { webhooks, ...rest } = configuration(ca, SERVICE) as { webhooks: Json[] }
  const all = webhooks.map((webhook) => change({ ...webhook, timeoutSeconds: 3 }))
  return { ...rest, metadata: { name: 'ridealong', labels }, webhooks: all }
}

function deployment(status: Json): Json {
  const metadata = { name: 'ridealong', namespace: 'ridealong-system', generation: 2 }
  return { metadata, spec: { replicas: 2 }, status }
}

/** The catalog with only the metrics whose images are in a list. */
function offering(...images: readonly string[]): Catalog {
  const metrics = [...CATALOG.metrics].filter(([, metric]) => {
    return imagesOf(metric).every((image) => images.includes(image))
  })
  return { ...CATALOG, metrics: new Map(metrics) }
}

const OFFERED = offering(IMAGE)
const TOOL_IMAGE = 'registry.example/cpu-profile:1'

const ready = { observedGeneration: 2, readyReplicas: 2, updatedReplicas: 2 }
const forbidden = { problem: 'the apiserver says 403: User "a" cannot list resource "b"' }

function namespace(name: string, annotations: Json = {}, labels: Json = {}): Json {
  return {
    metadata: { name, annotations, labels: { ...labels, 'kubernetes.io/metadata.name': name } },
  }
}

const ASKS = { 'ridealong.dev/inject': 'perf-sysstat' }
const ARMED = { 'ridealong.dev/armed': 'true' }

/** A pod that requests perf-sysstat, with the observer that the webhook adds. */
const INJECTED = ride(askingPod('perf-sysstat')).pod as unknown as Json

const WELL: Installation = {
  webhook: {
    now: NOW,
    configuration: { value: configured(authority.ca) },
    serving: { value: cert },
    ready: { value: 2 },
  },
  release: {
    service: { value: {} },
    deployment: { value: deployment(ready) },
    offer: { value: { kind: 'whole', catalog: OFFERED } },
    holders: { value: [{ images: [IMAGE], isHeld: true, ready: 3, nodes: 3 }] },
    guard: { value: { spec: { validationActions: ['Warn', 'Audit'] } } },
  },
  configurations: { value: [configured(authority.ca)] },
  namespaces: { value: [namespace('default'), namespace('hpc', ASKS, ARMED)] },
  triedNamespace: { value: namespace('ridealong-doctor-x', ASKS, ARMED) },
  triedPod: {
    namespace: 'default',
    metric: 'perf-sysstat',
    answer: { outcome: 'admitted', pod: INJECTED },
  },
}

const withWebhook = (change: Partial<WebhookFacts>): Installation => ({
  ...WELL,
  webhook: { ...WELL.webhook, ...change },
})
const withRelease = (change: Partial<Release>): Installation => ({
  ...WELL,
  release: { ...(WELL.release as Release), ...change },
})
const withPod = (answer: Installation['triedPod']['answer']): Installation => ({
  ...WELL,
  triedPod: { ...WELL.triedPod, answer },
})

t.test('without a fault, every check has the verdict ok and a sentence', async (t) => {
  const checks = examine(WELL)
  t.strictSame(
    checks.map(({ verdict, name }) => `${verdict} ${name}`),
    [
      'ok webhook configuration',
      'ok CA',
      'ok certificate',
      'ok failurePolicy',
      'ok certificate mode',
      'ok Service',
      'ok Deployment',
      'ok catalog',
      'ok image',
      'ok guard',
      'ok revisions',
      'ok namespaces',
      'ok dry run: namespace',
      'ok dry run: pod',
    ],
  )
  const said = Object.fromEntries(checks.map(({ name, sentence }) => [name, sentence]))
  t.match(said, {
    'webhook configuration':
      'ridealong calls Service ridealong-system/ridealong (release ridealong, version 0.1.0)',
    certificate: /^the certificate is verified by caBundle and is valid until 20/,
    failurePolicy: 'Ignore: objects are admitted unchanged if there is no answer within 3 s',
    Service: 'ready endpoints: 2',
    catalog: new RegExp(`^revision ${CATALOG.revision}: .*perf-sysstat`),
    image: /^3 of 3 nodes have registry\.example\/observer:1 \(.*perf-sysstat/,
    guard: 'installed, with the actions Warn, Audit',
    revisions: 'default (ridealong)',
    namespaces: '1 of 2 request observers, and these are armed',
    'dry run: pod': 'in a dry run in namespace default, the pod got perf-sysstat',
  })
  t.equal(overallOutcome(checks), 'sound')
})

const LEFT = {
  ...askingPod('perf-sysstat'),
  metadata: {
    annotations: {
      ...ASKS,
      'ridealong.dev/status': JSON.stringify({
        outcome: 'left',
        reason: 'observer-unavailable',
        message: `no node is known to have ${IMAGE}`,
      }),
    },
  },
}

const revision = (name: string) => ({ 'ridealong.dev/revision': name })

/** Returns the metadata of a release's configuration. */
function released(name: string, of?: string): Json {
  return { metadata: { name, labels: of === undefined ? {} : revision(of) } }
}

t.test('each release checks only its own namespaces', async (t) => {
  const configurations = { value: [released('ridealong'), released('other', 'canary')] }
  const hpc = namespace('hpc', ASKS, revision('canary'))
  const own = examine({ ...WELL, configurations, namespaces: { value: [hpc] } })
  const sentences = Object.fromEntries(own.map(({ name, sentence }) => [name, sentence]))
  t.equal(sentences.revisions, 'default (ridealong), canary (other)')
  t.equal(sentences.namespaces, '0 of 0 request observers, and these are armed')
  const labels = revision('canary')
  const { webhooks } = configured(authority.ca) as { webhooks: Json[] }
  const canary = { metadata: { name: 'other', labels }, webhooks }
  const moved = withWebhook({ configuration: { value: canary } })
  const checks = examine({ ...moved, configurations, namespaces: { value: [hpc] } })
  t.match(
    checks.find(({ name }) => name === 'namespaces'),
    { verdict: 'no', sentence: 'not armed although they request observers: hpc' },
  )
  const lone = examine({ ...WELL, configurations: { value: [released('other', 'canary')] } })
  t.match(
    lone.find(({ name }) => name === 'revisions'),
    { verdict: 'look', sentence: /^canary \(other\); there is no default release/ },
  )
})

const SHARING =
  "ValidatingAdmissionPolicy 'no-shared-pids' with binding 'no-shared-pids' denied request:" +
  ' pods must not share their process namespace'

/** For each fault: the installation, the name of the check that fails, its message, its remedy. */
const FAULTS: Readonly<Record<string, readonly [Installation, string, RegExp, RegExp]>> = {
  'there is no webhook configuration': [
    withWebhook({ configuration: { value: undefined } }),
    'webhook configuration',
    /^no MutatingWebhookConfiguration has pods\.ridealong\.dev/,
    /^install the chart/,
  ],
  'the configuration lacks one of its webhooks': [
    withWebhook({
      configuration: {
        value: {
          ...configured(authority.ca),
          webhooks: (configured(authority.ca) as { webhooks: Json[] }).webhooks.slice(0, 2),
        },
      },
    }),
    'webhook configuration',
    /^MutatingWebhookConfiguration ridealong has no webhook namespaces\.ridealong\.dev, moved\.ridealong\.dev$/,
    /^restore it with helm upgrade/,
  ],
  'the configuration has no CA': [
    withWebhook({ configuration: { value: configured('') }, serving: { problem: 'not asked' } }),
    'CA',
    /^caBundle has no certificate$/,
    /cainjector/,
  ],
  'the CA has not issued the certificate': [
    withWebhook({ configuration: { value: configured(other.ca) } }),
    'certificate',
    /^caBundle does not verify the server's certificate/,
    /cainjector/,
  ],
  'the certificate is for another name': [
    withWebhook({ serving: { value: elsewhere.cert } }),
    'certificate',
    /is not valid for ridealong\.ridealong-system\.svc/,
    /issuer/,
  ],
  'the certificate expires soon': [
    withWebhook({
      serving: { value: (await authority.issue({ names: [HOST], days: 6 })).cert },
    }),
    'certificate',
    /is valid until 20.*, less than 7 days from now$/,
    /^find out why the certificate was not renewed/,
  ],
  'the webhooks have failurePolicy Fail': [
    withWebhook({
      configuration: {
        value: configured(authority.ca, (webhook) => ({ ...webhook, failurePolicy: 'Fail' })),
      },
    }),
    'failurePolicy',
    /^Fail: if pods\.ridealong\.dev, armed\.ridealong\.dev.* objects are refused$/,
    /^restore it with helm upgrade/,
  ],
  'there is no Service': [
    withRelease({ service: { value: undefined } }),
    'Service',
    /^Service ridealong-system\/ridealong, which the webhooks call, does not exist$/,
    /^restore it with helm upgrade/,
  ],
  'the Service has no ready endpoint': [
    withWebhook({ ready: { value: 0 } }),
    'Service',
    /^Service ridealong-system\/ridealong has no ready endpoint$/,
    /selector/,
  ],
  'there is no Deployment': [
    withRelease({ deployment: { value: undefined } }),
    'Deployment',
    /^no Deployment has the name of Service ridealong-system\/ridealong$/,
    /^restore it with helm upgrade/,
  ],
  'a replica is not ready': [
    withRelease({ deployment: { value: deployment({ ...ready, readyReplicas: 1 }) } }),
    'Deployment',
    /^1 of 2 replicas are ready/,
    /kubectl -n ridealong-system get pods/,
  ],
  'the replicas run an older template': [
    withRelease({ deployment: { value: deployment({ ...ready, observedGeneration: 1 }) } }),
    'Deployment',
    /^2 of 2 replicas are ready, 0 run the current template$/,
    /get pods/,
  ],
  'the catalog is invalid': [
    withRelease({
      offer: { value: { kind: 'broken', problem: 'a.yaml: metric a: spec is wrong' } },
    }),
    'catalog',
    /^a\.yaml: metric a: spec is wrong$/,
    /servers keep the last valid catalog/,
  ],
  'no node holds the image': [
    withRelease({ holders: { value: [{ images: [IMAGE], isHeld: false, ready: 0, nodes: 3 }] } }),
    'image',
    /^no node is known to have registry\.example\/observer:1 \(/,
    /ridealong\.dev\/image/,
  ],
  'no node holds the image of a tool': [
    withRelease({ offer: { value: { kind: 'whole', catalog: offering(IMAGE, TOOL_IMAGE) } } }),
    'image',
    /^no node is known to have registry\.example\/cpu-profile:1 \(cpu-profile\)/,
    /ridealong\.dev\/image/,
  ],
  'the only DaemonSet holds another image': [
    withRelease({
      holders: { value: [{ images: ['other:1'], isHeld: true, ready: 3, nodes: 3 }] },
    }),
    'image',
    /^no node is known to have/,
    /ridealong\.dev\/image/,
  ],
  'two releases have the same revision': [
    { ...WELL, configurations: { value: [released('a', 'canary'), released('b', 'canary')] } },
    'revisions',
    /^a and b are both the revision canary, and both handle the same pods$/,
    /^remove one of the two releases/,
  ],
  'there are two default releases': [
    { ...WELL, configurations: { value: [released('a'), released('b')] } },
    'revisions',
    /^a and b are both the default release/,
    /^remove one of the two releases/,
  ],
  'no release has the revision of a namespace': [
    { ...WELL, namespaces: { value: [namespace('hpc', ASKS, { ...ARMED, ...revision('typo') })] } },
    'revisions',
    /^no release has the revision of these namespaces: hpc \(typo\)$/,
    /^correct or remove the label ridealong\.dev\/revision/,
  ],
  'an annotated namespace is not armed': [
    { ...WELL, namespaces: { value: [namespace('hpc', ASKS)] } },
    'namespaces',
    /^not armed although they request observers: hpc$/,
    /annotate the namespace again$/,
  ],
  'many armed namespaces do not have the annotation': [
    { ...WELL, namespaces: { value: [...'abcdefg'].map((name) => namespace(name, {}, ARMED)) } },
    'namespaces',
    /^armed although they are excluded or request no observers: a, b, c, d, e, 2 more$/,
    /a few minutes/,
  ],
  'an excluded namespace is armed': [
    { ...WELL, namespaces: { value: [namespace('apart', ASKS, ARMED)] } },
    'namespaces',
    /^armed although they are excluded or request no observers: apart$/,
    /a few minutes/,
  ],
  'the webhook does not answer for namespaces': [
    { ...WELL, triedNamespace: { value: namespace('x', ASKS) } },
    'dry run: namespace',
    /^in a dry run, the webhook did not answer$/,
    /port 8443/,
  ],
  'the webhook does not answer for pods': [
    withPod({ outcome: 'admitted', pod: askingPod('perf-sysstat') }),
    'dry run: pod',
    /^in a dry run, the webhook did not answer$/,
    /port 8443/,
  ],
  'a failed call of the webhook denies pods': [
    withPod({
      outcome: 'unknown',
      problem: 'Internal error occurred: failed calling webhook "pods.ridealong.dev"',
    }),
    'dry run: pod',
    /failed calling webhook/,
    /port 8443/,
  ],
  'a policy denies the pod only with observers': [
    withPod({ outcome: 'denied', message: `pods "x" is forbidden: ${SHARING}` }),
    'dry run: pod',
    /^in a dry run in namespace default, the pod was denied only with observers: .*namespace$/,
    /^ask the administrator of the policy that the message names for an exception/,
  ],
  'the pod is created without observers': [
    withPod({ outcome: 'admitted', pod: LEFT }),
    'dry run: pod',
    /the pod got no observers \(observer-unavailable\): no node is known/,
    /why no node has the image/,
  ],
  'another webhook removes the status of the pod': [
    withPod({ outcome: 'admitted', pod: { ...INJECTED, metadata: { annotations: ASKS } } }),
    'dry run: pod',
    /the pod got perf-sysstat, and then lost the annotation ridealong\.dev\/status$/,
    /^find the webhook/,
  ],
  'another webhook changes the pod': [
    withPod({
      outcome: 'admitted',
      pod: { ...INJECTED, spec: { ...(INJECTED.spec as Json), shareProcessNamespace: false } },
    }),
    'dry run: pod',
    /the pod was injected, then changed: shareProcessNamespace is not true$/,
    /^find the webhook/,
  ],
}

for (const [what, [installation, name, sentence, remedy]] of Object.entries(FAULTS)) {
  t.test(`if ${what}, exactly one check fails, with a remedy`, async (t) => {
    const checks = examine(installation)
    const faults = checks.filter(({ verdict }) => verdict === 'no')
    t.match(faults, [{ name, sentence, remedy }])
    t.equal(faults.length, 1)
    t.equal(overallOutcome(checks), 'faulty')
  })
}

t.test('the certificate check fails from seven days before the certificate expires', async (t) => {
  const names = [HOST]
  const verdictAfter = async (days: number) => {
    const { cert } = await authority.issue({ names, days })
    const checks = examine(withWebhook({ serving: { value: cert } }))
    return checks.find(({ name }) => name === 'certificate')?.verdict
  }
  t.equal(await verdictAfter(6), 'no')
  t.equal(await verdictAfter(8), 'ok')
})

t.test('checks of objects that cannot be read are unknown, and not faults', async (t) => {
  const webhook = { configuration: forbidden, serving: forbidden, ready: forbidden }
  const checks = examine({
    ...withWebhook(webhook),
    release: undefined,
    namespaces: forbidden,
    triedPod: { ...WELL.triedPod, answer: { outcome: 'unknown', ...forbidden } },
  })
  t.strictSame(
    checks.map(({ name, verdict }) => `${verdict} ${name}`),
    [
      'unknown webhook configuration',
      'unknown revisions',
      'unknown namespaces',
      'ok dry run: namespace',
      'unknown dry run: pod',
    ],
  )
  t.equal(overallOutcome(checks), 'sound', 'one dry run succeeded')
  const nothing = examine({
    ...withRelease({
      service: forbidden,
      deployment: forbidden,
      offer: forbidden,
      holders: forbidden,
      guard: forbidden,
    }),
    triedNamespace: forbidden,
    triedPod: { ...WELL.triedPod, answer: { outcome: 'unknown', ...forbidden } },
  })
  t.equal(overallOutcome(nothing), 'unknown')
  t.strictSame(unknownOf(nothing), [
    'Service',
    'Deployment',
    'catalog',
    'guard',
    'dry run: namespace',
    'dry run: pod',
  ])
})

const unknownOf = (checks: readonly InstallationCheck[]) =>
  checks.flatMap(({ name, verdict }) => (verdict === 'unknown' ? [name] : []))

t.test('a dry run without an answer in an excluded namespace is no fault', async (t) => {
  const silent = { outcome: 'admitted', pod: askingPod('perf-sysstat') } as const
  const tried = (namespace: string) => {
    const installation = { ...WELL, triedPod: { ...WELL.triedPod, namespace, answer: silent } }
    return examine(installation).at(-1)
  }
  t.match(tried('apart'), {
    name: 'dry run: pod',
    verdict: 'look',
    sentence: /^not tried: the configuration excludes namespace apart \(.* NotIn \(.*apart/,
  })
  t.match(tried('default'), { name: 'dry run: pod', verdict: 'no' })
})

t.test('a state that may be intended or temporary has the verdict look', async (t) => {
  const looks = (installation: Installation) =>
    examine(installation).flatMap(({ name, verdict }) => (verdict === 'look' ? [name] : []))
  t.strictSame(looks(withRelease({ guard: { value: undefined } })), ['guard'])
  t.strictSame(looks(withRelease({ holders: { value: [] } })), ['images'])
  t.strictSame(looks(withRelease({ offer: { value: { kind: 'none' } } })), ['catalog'])
  const some = { images: [IMAGE], isHeld: true, ready: 1, nodes: 3 }
  t.strictSame(looks(withRelease({ holders: { value: [some] } })), ['image'])
  const newer = { kind: 'whole', catalog: { ...OFFERED, revision: '11111111' } } as const
  t.strictSame(looks(withRelease({ offer: { value: newer } })), ['dry run: pod'])
})

t.test('a container that differs from the catalog is named, and is not a fault', async (t) => {
  const spec = INJECTED.spec as { readonly initContainers: readonly Json[] }
  const initContainers = spec.initContainers.map((one) => ({
    ...one,
    image: 'mirror.example/o:1',
  }))
  const checks = examine(
    withPod({ outcome: 'admitted', pod: { ...INJECTED, spec: { ...spec, initContainers } } }),
  )
  t.strictSame(checks.at(-1), {
    name: 'dry run: pod',
    verdict: 'look',
    sentence:
      'in a dry run in namespace default, the pod got a container ' +
      "that is not the catalog's observer: " +
      `container perf-sysstat has image "mirror.example/o:1" instead of the catalog's "${IMAGE}"`,
  })
  t.equal(overallOutcome(checks), 'sound')
})

t.test('the held images are read from the image holders, if there are any', async (t) => {
  const holder = (image: string, isHeld: boolean) => ({
    images: [image],
    isHeld,
    ready: 1,
    nodes: 1,
  })
  const { release } = withRelease({ holders: { value: [holder('a', true), holder('b', false)] } })
  t.strictSame(readHeldImages(release), new Set(['a']))
  t.equal(readHeldImages(withRelease({ holders: { value: [] } }).release), undefined)
  t.equal(readHeldImages(withRelease({ holders: forbidden }).release), undefined)
  t.equal(readHeldImages(undefined), undefined)
})

t.test('a webhook that is called by URL is examined without a release', async (t) => {
  const url = configuration(authority.ca, { url: `https://${HOST}/` })
  const checks = examine({
    ...withWebhook({ configuration: { value: url }, ready: { value: undefined } }),
    release: undefined,
  })
  t.equal(overallOutcome(checks), 'sound')
  t.match(checks[0], { sentence: `ridealong calls https://${HOST}/` })
})

t.test('the dry run requests a restricted metric without a tool if there is one', async (t) => {
  const metric = metricToAsk(CATALOG)
  t.match(CATALOG.metrics.get(metric), { privilege: 'restricted', tool: undefined })
  const metrics = new Map(
    [...CATALOG.metrics].filter(([, { privilege }]) => privilege !== 'restricted'),
  )
  t.equal(metricToAsk({ ...CATALOG, metrics }), [...metrics.keys()][0])
})

t.test('each check is one line, and a failed check has its remedy below', async (t) => {
  const output = shown(examine(withWebhook({ ready: { value: 0 } })), 'text')
  const lines = linesOf(output)
  const at = lines.findIndex((line) => line.startsWith('no '))
  const fault = 'Service ridealong-system/ridealong has no ready endpoint'
  t.equal(lines[at], `no       Service                ${fault}`)
  t.match(lines[at + 1], /^ {32}What to do: find out why no replica is ready, .*\.$/)
  t.equal(lines.length, 14 + 2)
  t.equal(lines.at(-1), '1 of 14 checks failed.')
  t.equal(linesOf(shown(examine(WELL), 'text')).at(-1), 'Pods that request observers get them.')
  const unread = { ...WELL, namespaces: forbidden }
  t.match(
    linesOf(shown(examine(unread), 'text')).at(-1),
    /get them; 2 of the checks could not be made\.$/,
  )
})

t.test('in a terminal of 80 columns, sentences are wrapped in their column', async (t) => {
  const output = shown(examine(withWebhook({ ready: { value: 0 } })), 'text')
  const lines = linesOf(output, 80)
  for (const line of lines) t.ok(line.length <= 80, line)
  const [first = -1] = lines.flatMap((line, at) => (line.startsWith('no ') ? [at] : []))
  t.strictSame(lines.slice(first, first + 4), [
    'no       Service                Service ridealong-system/ridealong has no ready',
    '                                endpoint',
    '                                What to do: find out why no replica is ready,',
    "                                and check that the Service's selector is the",
  ])
})

t.test('the sample in docs/doctor.md is the beginning of the output of doctor', async (t) => {
  const page = readFileSync(new URL('../../../../docs/doctor.md', import.meta.url), 'utf8')
  const [, sample = ''] = page.match(/^\$ ridealong doctor\n(.*?)\.\.\.\n```$/ms) ?? []
  for (const line of sample.split('\n')) t.ok(line.length <= 80, line)
  // The sample has other times and another name of the CA, so its line breaks can differ.
  const general = (text: string) =>
    text
      .replaceAll(/\s+/g, ' ')
      .replaceAll(/20\d\d-\S+Z/g, 'TIME')
      .replaceAll(/CN=.*?(?= What to do)/g, 'CN')
  const { cert: foreign } = await other.issue({ names: [HOST], days: 90 })
  const checks = examine(withWebhook({ serving: { value: foreign } }))
  const printed = general(linesOf(shown(checks, 'text'), 80).join('\n'))
  t.not(general(sample), '')
  t.equal(printed.slice(0, general(sample).length), general(sample))
})

t.test('the JSON and YAML output has the outcome and the checks', async (t) => {
  const checks = examine(withWebhook({ ready: { value: 0 } }))
  const read = JSON.parse(documentOf(shown(checks, 'json')))
  t.strictSame(read, { outcome: 'faulty', checks })
  const [manifest] = readManifests('doctor', documentOf(shown(checks, 'yaml')))
  t.strictSame(manifest?.value, { outcome: 'faulty', checks })
})
