import t from 'tap'
import type { InstallationCheck } from '../../../../src/pods/doctor/check.ts'
import { examine, overallOutcome } from '../../../../src/pods/doctor/examine.ts'
import { type Installation, readHeldImages } from '../../../../src/pods/doctor/installation.ts'
import { askingPod, metricToAsk } from '../../../../src/pods/doctor/probe.ts'
import { CATALOG, type Json } from '../../core/build.ts'
import { configuration } from '../explain/build.ts'
import {
  ASKS,
  authority,
  configured,
  forbidden,
  HOST,
  IMAGE,
  INJECTED,
  namespace,
  OFFERED,
  released,
  revision,
  WELL,
  withPod,
  withRelease,
  withWebhook,
} from './build.ts'
import { FAULTS } from './faults.ts'

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
      'ok order of webhooks',
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
    'order of webhooks': 'no other mutating webhook is called for pods',
    revisions: 'default (ridealong)',
    namespaces: '1 of 2 request observers, and these are armed',
    'dry run: pod': 'in a dry run in namespace default, the pod got perf-sysstat',
  })
  t.equal(overallOutcome(checks), 'sound')
})

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

t.test('without default metrics, the dry run requests a restricted metric', async (t) => {
  t.equal(metricToAsk({ ...CATALOG, defaultMetrics: ['trace-stat'] }), 'trace-stat')
  const catalog = { ...CATALOG, defaultMetrics: [] }
  const metric = metricToAsk(catalog)
  t.match(CATALOG.metrics.get(metric), { privilege: 'restricted', tool: undefined })
  const metrics = new Map(
    [...CATALOG.metrics].filter(([, { privilege }]) => privilege !== 'restricted'),
  )
  t.equal(metricToAsk({ ...catalog, metrics }), [...metrics.keys()][0])
})
