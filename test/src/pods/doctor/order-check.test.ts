import t from 'tap'
import { examine } from '../../../../src/pods/doctor/examine.ts'
import type { Json } from '../../core/build.ts'
import { authority, configured, forbidden, released, WELL, withWebhook } from './build.ts'

const PODS = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }

/** Returns the configuration of another webhook, with the fields of its only webhook. */
function other(name: string, fields: Json = {}): Json {
  return {
    metadata: { name },
    webhooks: [{ name: `${name}.example.com`, rules: [PODS], ...fields }],
  }
}

const AGAIN = { reinvocationPolicy: 'IfNeeded' }
const NEVER = { reinvocationPolicy: 'Never' }

/** Returns the check of the release `ridealong` among other configurations. */
function orderAmong(...others: readonly Json[]) {
  const configurations = { value: [configured(authority.ca), ...others] }
  const found = examine({ ...WELL, configurations })
  return found.find(({ name }) => name === 'order of webhooks')
}

t.test('webhooks that see each change are no problem', async (t) => {
  t.match(orderAmong(other('a', AGAIN)), {
    verdict: 'ok',
    sentence:
      'ridealong is called after the other mutating webhooks for pods, which are called again',
  })
})

t.test('an earlier webhook that is called once is named', async (t) => {
  t.match(orderAmong(other('a', NEVER), other('b', AGAIN), other('c')), {
    verdict: 'look',
    sentence:
      'called before ridealong, and not again (reinvocationPolicy Never), so they do not change' +
      ' observers: a, c',
  })
})

t.test('a later webhook is named, whatever its reinvocationPolicy', async (t) => {
  t.match(orderAmong(other('z', NEVER), other('y', AGAIN), other('a')), {
    verdict: 'look',
    sentence:
      'called after ridealong, which does not see the annotation ridealong.dev/inject if they add' +
      ' it: z, y; called before ridealong, and not again (reinvocationPolicy Never), so they do' +
      ' not change observers: a',
  })
})

t.test('the message names five configurations and counts the others', async (t) => {
  t.match(orderAmong(...['s', 't', 'u', 'v', 'w', 'x', 'y'].map((name) => other(name))), {
    sentence: /: s, t, u, v, w and 2 more$/,
  })
})

t.test('only webhooks that the apiserver calls for new pods count', async (t) => {
  const isNamed = (rule: Json) =>
    orderAmong(other('z', { rules: [{ ...PODS, ...rule }] }))?.verdict === 'look'
  for (const rule of [
    { apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*'], scope: '*' },
    { resources: ['*/*'], scope: 'Namespaced' },
    { resources: ['services', 'pods/*'] },
  ])
    t.equal(isNamed(rule), true, JSON.stringify(rule))
  for (const rule of [
    { apiGroups: ['apps'] },
    { apiVersions: ['v1beta1'] },
    { operations: ['UPDATE', 'DELETE'] },
    { resources: ['pods/status', 'deployments'] },
    { scope: 'Cluster' },
  ])
    t.equal(isNamed(rule), false, JSON.stringify(rule))
})

t.test('other releases of Ridealong and its recorder are no other webhooks', async (t) => {
  const names = ['pods.ridealong.dev', 'record.ridealong.dev']
  const webhooks = names.map((name) => ({ name, rules: [PODS] }))
  t.match(orderAmong({ ...released('zz-next', 'next'), webhooks }), { verdict: 'ok' })
})

t.test('without the configurations, the order is unknown', async (t) => {
  const named = (installation: typeof WELL) =>
    examine(installation).filter(({ name }) => name === 'order of webhooks')
  t.match(named({ ...WELL, configurations: forbidden }), [{ verdict: 'unknown' }])
  t.strictSame(named(withWebhook({ configuration: forbidden })), [], 'reported by another check')
  t.strictSame(named(withWebhook({ configuration: { value: undefined } })), [])
})
