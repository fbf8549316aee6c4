import t from 'tap'
import { askingPod, type Json, ride } from '../../core/build.ts'
import { explained } from './build.ts'

const podWith = (securityContext: Json | undefined, annotations = {}) =>
  askingPod({ containers: [{ name: 'app', image: 'app', securityContext }] }, annotations)

const counters = (...args: Parameters<typeof explained>) =>
  explained(...args).findings.find(({ name }) => name === 'counters')

t.test('the explanation names the readable counters, and gives advice', async (t) => {
  const rows: [string, Json | undefined, 'ok' | 'look' | 'unknown', RegExp][] = [
    ['no user', undefined, 'ok', /^all can be read$/],
    ['a user without a group', { runAsUser: 1000 }, 'unknown', /set runAsUser and runAsGroup/],
    [
      'runAsNonRoot without a user',
      { runAsNonRoot: true },
      'unknown',
      /set runAsUser and runAsGroup/,
    ],
    ['no capabilities', { capabilities: { drop: ['ALL'] } }, 'unknown', /set only in its image/],
    ['privileged', { privileged: true }, 'unknown', /privileged or adds capabilities/],
    [
      'privileged root',
      { runAsUser: 0, privileged: true },
      'look',
      /I\/O cannot be read: .*remove/,
    ],
    [
      'an AppArmor profile',
      { appArmorProfile: { type: 'Unconfined' } },
      'unknown',
      /AppArmor profile/,
    ],
    ['SELinux options', { seLinuxOptions: { type: 'hpc_t' } }, 'unknown', /SELinux options/],
  ]
  for (const [name, context, verdict, sentence] of rows) {
    t.match(counters(podWith(context)), { verdict, sentence }, name)
  }
  const sandboxed = askingPod({ runtimeClassName: 'gvisor' })
  t.match(counters(sandboxed), { verdict: 'unknown', sentence: /in a sandbox/ })
  const two = [7, 8].map((id) => ({
    name: `c${id}`,
    image: 'a',
    securityContext: { runAsUser: id, runAsGroup: id },
  }))
  const pod = askingPod({ containers: two }, { 'ridealong.dev/target-command': 'lmp' })
  t.match(counters(pod), { verdict: 'unknown', sentence: /give all containers the same/ })
})

t.test(
  'a pod that has no observers, or other counters in its status annotation, gets no advice',
  async (t) => {
    const metadata = { creationTimestamp: '2026-01-01T12:00:00Z' }
    const { pod } = ride(podWith({ runAsUser: 1000 })) as unknown as {
      pod: { metadata: Json } & Json
    }
    const created = { ...pod, metadata: { ...pod.metadata, ...metadata } }
    t.match(counters(created, {}, created), { verdict: 'unknown', sentence: /runAsGroup/ })
    const { annotations } = pod.metadata as { annotations: Record<string, string> }
    const status = annotations['ridealong.dev/status']?.replace('"unknown"', '"no-io"') ?? ''
    t.match(status, /no-io/)
    const older = {
      ...created,
      metadata: {
        ...created.metadata,
        annotations: { ...annotations, 'ridealong.dev/status': status },
      },
    }
    t.equal(counters(older, {}, older), undefined, 'the status annotation has other counters')
    t.equal(counters(askingPod({ hostPID: true })), undefined, 'the pod has no observers')
  },
)
