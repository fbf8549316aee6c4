import t from 'tap'
import {
  buildEvent,
  groupMissedPods,
  inTurns,
} from '../../../../src/core/missed/missed-pod-events.ts'
import type { MissedPod } from '../../../../src/core/missed/missed-pods.ts'

const UID = '0f9d3c1e-5b7a-4c2d-9e8f-1a2b3c4d5e6f'
const JOB = { apiVersion: 'batch/v1', kind: 'Job', name: 'lammps', uid: UID }

function found(pod: string, changes: Partial<MissedPod> = {}): MissedPod {
  const created = '2026-01-01T12:00:05Z'
  const where = { namespace: 'hpc', pod, created, regarding: JOB }
  return { reason: 'unanswered', ...where, ...changes }
}

// A missed pod requested observers, but has none or altered ones. A notice describes missed pods of
// one owner and with one reason, and becomes an Event.
t.test(
  'two thousand missed pods of one Job have one notice, which names three of the pods',
  async (t) => {
    const pods = Array.from({ length: 2000 }, (_, place) => found(`lammps-${place}`))
    const [notice, ...others] = groupMissedPods(pods)
    t.strictSame(others, [])
    t.match(notice, { reason: 'unanswered', namespace: 'hpc', regarding: JOB, count: 2000 })
    t.match(notice?.message, /lammps-0, lammps-1, lammps-2 and 1997 more; create them again/)
  },
)

t.test('pods with different owners, reasons or namespaces have separate notices', async (t) => {
  const notices = groupMissedPods([
    found('a'),
    found('b'),
    found('c', { reason: 'altered' }),
    found('d', { regarding: { ...JOB, uid: 'other' } }),
    found('e', { namespace: 'other' }),
  ])
  t.strictSame(
    notices.map(({ count }) => count),
    [2, 1, 1, 1],
  )
  t.match(
    notices[1]?.message,
    /altered, or not the catalog.s: c; for details, run ridealong explain pod\/c$/,
  )
})

t.test('a notice has the earliest and the latest creation time of its pods', async (t) => {
  const times = ['2026-01-01T12:00:05Z', '2026-01-01T11:00:05Z', '2026-01-02T12:00:05Z']
  const notices = groupMissedPods(times.map((created, place) => found(`p-${place}`, { created })))
  t.match(notices, [{ first: times[1], last: times[2] }])
})

t.test('the Event of a notice names the owner and the number of pods', async (t) => {
  const pods = ['a', 'b'].map((pod) => found(pod, { reason: 'observer-unavailable' }))
  const [event] = groupMissedPods(pods).map((notice) => buildEvent(notice, 'ridealong.0'))
  t.match(event, {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'ridealong.0', namespace: 'hpc' },
    involvedObject: { ...JOB, namespace: 'hpc' },
    type: 'Warning',
    reason: 'ObserverUnavailable',
    message:
      /^created without requested observers, because no node was known to have an image: a, b$/,
    count: 2,
    source: { component: 'ridealong' },
  })
})

t.test(
  'inTurns() alternates between namespaces, and keeps 100 notices of each namespace',
  async (t) => {
    const many = Array.from({ length: 1000 }, (_, place) =>
      found(`p-${place}`, { namespace: 'crowd', regarding: { ...JOB, name: `j-${place}` } }),
    )
    const turns = inTurns(
      groupMissedPods([...many, found('a'), found('b', { reason: 'altered' })]),
      100,
    )
    t.strictSame(
      turns
        .slice(0, 5)
        .map(({ namespace, message }) => [namespace, /: ([-\w]+)/.exec(message)?.[1]]),
      [
        ['crowd', 'p-0'],
        ['hpc', 'a'],
        ['crowd', 'p-1'],
        ['hpc', 'b'],
        ['crowd', 'p-2'],
      ],
    )
    t.equal(turns.length, 102)
  },
)

t.test('the message of a notice is printable, and not too long for an Event', async (t) => {
  // With events.k8s.io/v1, by which the same Event can be read, the limit is 1,024 bytes
  // (kubernetes pkg/apis/core/validation/events.go).
  const name = `\u001b[2J${'x'.repeat(1000)}`
  for (const reason of ['unanswered', 'altered', 'observer-unavailable'] as const) {
    const [notice] = groupMissedPods(
      ['1', '2', '3', '4'].map((last) => found(name + last, { reason })),
    )
    t.ok((notice?.message.length ?? 0) <= 1024, reason)
    t.match(notice?.message, /\\u001b\[2J/)
    t.notMatch(notice?.message, /\p{Cc}/u)
  }
})
