import t from 'tap'
import { createNamespace, runningCluster } from '../running.ts'
import { until } from '../until.ts'
import { startWebhook } from '../webhook.ts'

// Tests of the label `ridealong.dev/moved-from`, which only the webhook sets. With it, observers of
// another catalog count as observers, so a user must not be able to set it.

const NAME = 'moved-from'
const MARK = 'ridealong.dev/moved-from'
const REVISION = 'ridealong.dev/revision'

t.test('a user cannot mark a namespace as moved', async (t) => {
  const { cluster, api } = await runningCluster(t)
  const webhook = await startWebhook(cluster, { name: NAME, words: ['--mark-moves'] })
  t.teardown(() => webhook.remove())
  await createNamespace(t, api, 'unmoved', { labels: { a: 'b', [MARK]: 'default' } })
  const path = '/api/v1/namespaces/unmoved'
  const label = async (labels: object) => {
    const { body } = await api.merge(path, { metadata: { labels } })
    return body.metadata.labels
  }
  const { body } = await api.get(path)
  t.equal(body.metadata.labels[MARK], undefined, 'a new namespace')
  t.equal((await label({ [MARK]: 'other' }))[MARK], undefined, 'a namespace without a request')
  t.equal((await label({ [MARK]: 'default', c: 'd' }))[MARK], undefined)

  // No webhook handles a namespace with a revision that no release has.
  await label({ [REVISION]: 'nowhere' })
  t.equal((await label({ [MARK]: 'default' }))[MARK], 'default')
  const back = await label({ [REVISION]: null })
  t.equal(back[MARK], 'nowhere', 'the namespace has left the revision nowhere')
  const status = JSON.stringify({ outcome: 'injected', metrics: ['perf-sysstat'], catalog: '0' })
  const annotations = { 'ridealong.dev/inject': 'perf-sysstat', 'ridealong.dev/status': status }
  const forged = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { generateName: 'forged-', annotations },
    spec: {
      shareProcessNamespace: true,
      initContainers: [{ name: 'perf-sysstat', image: 'evil:1', restartPolicy: 'Always' }],
      containers: [{ name: 'app', image: 'app' }],
    },
  }
  // The apiserver and the webhook each learn of the new labels from a watch.
  await until('the observer of the other revision differs', async () => {
    const { warnings } = await api.post('/api/v1/namespaces/unmoved/pods?dryRun=All', forged)
    return warnings.join('\n').includes('observer-differs: ')
  })
  await until('the label is removed', async () => {
    return (await api.get(path)).body.metadata.labels[MARK] === undefined
  })
})
