import t from 'tap'
import { makeAuthority } from '../../../../certs/make.ts'
import { makeOwnPair } from '../../../../certs/own/make-pair.ts'
import { certificateModeCheck } from '../../../../src/pods/doctor/certificate-mode.ts'
import { configurationChecks } from '../../../../src/pods/doctor/configuration-checks.ts'
import type { Installation, Release } from '../../../../src/pods/doctor/installation.ts'
import type { Json } from '../../core/build.ts'
import { configuration, NOW } from '../explain/build.ts'

const HOST = 'ridealong.ridealong-system.svc'
const SERVICE = { service: { name: 'ridealong', namespace: 'ridealong-system' } }
const HOUR_MS = 3_600_000

const pairOf = (durationMs: number) => makeOwnPair({ names: [HOST], now: NOW, durationMs })
const current = await pairOf(2160 * HOUR_MS)
const older = await pairOf(1080 * HOUR_MS)
const foreign = (await makeAuthority()).ca

function installation(webhook: Json, args: readonly string[] = []): Installation {
  const deployment = { spec: { template: { spec: { containers: [{ args }] } } } }
  return {
    webhook: {
      now: NOW,
      configuration: { value: webhook },
      serving: { value: current.cert },
      ready: { value: 2 },
    },
    release: { deployment: { value: deployment } } as unknown as Release,
    configurations: { value: [] },
    namespaces: { value: [] },
    triedNamespace: { value: {} },
    triedPod: {
      namespace: 'default',
      metric: 'perf-sysstat',
      answer: { outcome: 'admitted', pod: {} },
    },
  }
}

const SELF = ['--own-certificate=ridealong-system/ridealong-own-tls']
const trusting = (...pems: readonly string[]) => configuration(pems.join(''), SERVICE)

t.test('the check names the mode and the place of the certificate', async (t) => {
  const injected = {
    ...trusting(foreign),
    metadata: { annotations: { 'cert-manager.io/inject-ca-from': 'ridealong-system/tls' } },
  }
  for (const [facts, sentence] of [
    [
      installation(trusting(current.ca, older.ca), SELF),
      'self: the webhook keeps the certificate in Secret ridealong-system/ridealong-own-tls; ' +
        'caBundle has 2 of its CAs',
    ],
    [
      installation(injected),
      'cert-manager: it renews Certificate ridealong-system/tls and writes caBundle',
    ],
    [
      installation(trusting(foreign)),
      'provided: an administrator renews the certificate and sets caBundle',
    ],
  ] as const) {
    t.match(certificateModeCheck(facts), [{ verdict: 'ok', sentence }])
  }
})

t.test('different caBundles are a fault if the webhook writes them', async (t) => {
  const [first, ...others] = trusting(current.ca).webhooks as Json[]
  const [changed] = trusting(current.ca, older.ca).webhooks as Json[]
  const webhooks = [changed, ...others]
  t.ok(first)
  const [check] = certificateModeCheck(installation({ ...trusting(current.ca), webhooks }, SELF))
  t.match(check, { verdict: 'no', sentence: /different caBundles/, remedy: /log of the webhook/ })
})

t.test('a CA that the webhook did not make needs attention', async (t) => {
  const [check] = certificateModeCheck(installation(trusting(current.ca, foreign), SELF))
  t.match(check, { verdict: 'look', sentence: /caBundle also trusts 1 CA that it did not make/ })
})

t.test('without the configuration or the Deployment, the mode is not checked', async (t) => {
  const facts = installation(trusting(current.ca), SELF)
  const unread = { problem: 'forbidden' }
  const { release, webhook } = facts
  t.strictSame(certificateModeCheck({ ...facts, release: undefined }), [])
  const without = { ...(release as Release), deployment: unread }
  t.strictSame(certificateModeCheck({ ...facts, release: without }), [])
  t.strictSame(
    certificateModeCheck({ ...facts, webhook: { ...webhook, configuration: unread } }),
    [],
  )
})

t.test(
  'an old CA in caBundle is no fault, if another one has issued the certificate',
  async (t) => {
    const ending = await pairOf(24 * HOUR_MS)
    const checkOf = (pems: readonly string[], cert: string) => {
      const facts = { ...installation(trusting(...pems)).webhook, serving: { value: cert } }
      return configurationChecks(facts, undefined).find(({ name }) => name === 'CA')
    }
    t.match(checkOf([ending.ca, current.ca], current.cert), { verdict: 'ok' })
    t.match(checkOf([current.ca, ending.ca], ending.cert), { verdict: 'no' })
    t.match(
      checkOf([ending.ca, current.ca], ''),
      { verdict: 'ok' },
      'without a certificate, the last one',
    )
  },
)

t.test(
  'an own certificate is a fault if less than a quarter of its lifetime remains',
  async (t) => {
    for (const [hours, duration, verdict, sentence] of [
      [3, '3h', 'ok', /is valid until/],
      [1, '3h', 'ok', /is valid until/],
      [0.7, '3h', 'no', /less than 45 minutes from now$/],
      [11, '48h', 'no', /less than 12 hours from now$/],
      [13, '48h', 'ok', /is valid until/],
      [24 * 6, '2160h', 'no', /less than 7 days from now$/],
      [24 * 8, '2160h', 'ok', /is valid until/],
      [24 * 6, undefined, 'no', /less than 7 days from now$/],
    ] as const) {
      const pair = await pairOf(hours * HOUR_MS)
      const facts = { ...installation(trusting(pair.ca)).webhook, serving: { value: pair.cert } }
      const checks = configurationChecks(facts, duration)
      for (const name of ['CA', 'certificate'])
        t.match(
          checks.find((check) => check.name === name),
          { verdict, sentence },
          `${name}: ${hours} of ${duration}`,
        )
    }
  },
)
