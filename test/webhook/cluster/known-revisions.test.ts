import t, { type Test } from 'tap'
import { connectApiserver } from '../../../src/cluster/apiserver.ts'
import { readNamespace } from '../../../src/core/namespaces/namespace.ts'
import { INTERVALS } from '../../../webhook/cluster/intervals.ts'
import { followRevisions } from '../../../webhook/cluster/known-revisions.ts'
import { startStandIn } from '../../stand-ins/apiserver.ts'
import { until } from '../../until.ts'

const LISTS = /^GET .*\/mutatingwebhookconfigurations/
const WEBHOOKS = [{ name: 'pods.ridealong.dev' }]

function namespace(labels: Readonly<Record<string, string>>) {
  return readNamespace('hpc', { metadata: { labels } })
}

const MOVED = namespace({ 'ridealong.dev/moved-from': 'canary' })

async function follow(t: Test, revision?: string, lookupRestMs = 10) {
  const { standIn, access } = await startStandIn(t)
  const api = connectApiserver(access)
  t.teardown(() => api.close())
  const troubles: boolean[] = []
  const onTrouble = (_: string, isLasting: boolean) => troubles.push(isLasting)
  const pace = { ...INTERVALS, lookupRestMs }
  const release = (name: string, of?: string, webhooks: readonly object[] = WEBHOOKS) => {
    const labels = of === undefined ? {} : { 'ridealong.dev/revision': of }
    standIn.put('mutatingwebhookconfigurations', { metadata: { name, labels }, webhooks })
  }
  release('ridealong')
  const revisions = followRevisions({ api, revision, pace, onTrouble })
  t.teardown(() => revisions.stop())
  const names = () => [...revisions.current()].sort().join()
  return { standIn, revisions, release, names, troubles }
}

t.test('a move makes the releases known, and only the releases of Ridealong', async (t) => {
  const { revisions, release, names } = await follow(t)
  t.equal(names(), 'default')
  release('ridealong-canary', 'canary')
  release('istio', 'other', [{ name: 'sidecar-injector.istio.io' }])
  revisions.note(MOVED)
  await until('canary is known', () => names() === 'canary,default')
  release('ridealong-blue', 'blue')
  revisions.note(namespace({ 'ridealong.dev/revision': 'blue' }))
  await until('blue is known', () => names() === 'blue,canary,default')
})

t.test('a removed release is not known after the next move', async (t) => {
  const { standIn, revisions, release, names } = await follow(t)
  release('ridealong-canary', 'canary')
  revisions.note(MOVED)
  await until('canary is known', () => names() === 'canary,default')
  standIn.remove('mutatingwebhookconfigurations', 'ridealong-canary')
  revisions.note(MOVED)
  await until('canary is not known', () => names() === 'default')
})

t.test('a cluster with only the default release is asked nothing', async (t) => {
  const { standIn, revisions } = await follow(t)
  revisions.note(undefined)
  revisions.note(namespace({ a: 'b' }))
  revisions.note(namespace({ 'ridealong.dev/moved-from': 'default' }))
  t.equal(standIn.count(LISTS), 0)
})

t.test('a release with a revision knows the others from the start', async (t) => {
  const { names } = await follow(t, 'canary')
  await until('the default release is known', () => names() === 'canary,default')
})

t.test('many moves cause few lists', async (t) => {
  const { standIn, revisions, names } = await follow(t, 'canary', 60_000)
  await until('the default release is known', () => names() === 'canary,default')
  for (let move = 0; move < 1000; move += 1) revisions.note(MOVED)
  t.equal(standIn.count(LISTS), 1)
})

t.test('after a failed list, the releases stay known, and the next move lists again', async (t) => {
  const { standIn, revisions, release, names, troubles } = await follow(t)
  revisions.note(MOVED)
  await until('the releases are listed', () => standIn.count(LISTS) === 1)
  standIn.faults.refuse = [LISTS, 403]
  revisions.note(MOVED)
  await until('a list fails', () => troubles.length === 1)
  t.equal(names(), 'default')
  standIn.faults.refuse = undefined
  release('ridealong-canary', 'canary')
  revisions.note(MOVED)
  await until('canary is known', () => names() === 'canary,default')
  t.strictSame(troubles, [false])
})
