import t from 'tap'
import { eventOf, noticesOf } from '../../src/core/notice.ts'
import type { Unobserved } from '../../src/core/unobserved.ts'

const JOB = { apiVersion: 'batch/v1', kind: 'Job', name: 'lammps', uid: 'u-job' }

function found(pod: string, changes: Partial<Unobserved> = {}): Unobserved {
  const created = '2026-01-01T12:00:05Z'
  const where = { namespace: 'hpc', pod, created, regarding: JOB }
  return { reason: 'unanswered', detail: '', ...where, ...changes }
}

t.test('two thousand pods of one Job are one notice', async (t) => {
  const pods = Array.from({ length: 2000 }, (_, place) => found(`lammps-${place}`))
  const [notice, ...others] = noticesOf(pods)
  t.strictSame(others, [])
  t.match(notice, { reason: 'unanswered', namespace: 'hpc', regarding: JOB, count: 2000 })
  t.match(notice?.message, /lammps-0, lammps-1, lammps-2 and 1997 others; create again/)
})

t.test('other owners, other reasons and other namespaces have notices of their own', async (t) => {
  const notices = noticesOf([
    found('a'),
    found('b'),
    found('c', { reason: 'altered', detail: 'perf-sysstat is not there any more' }),
    found('d', { regarding: { ...JOB, uid: 'other' } }),
    found('e', { namespace: 'other' }),
  ])
  t.strictSame(
    notices.map(({ count }) => count),
    [2, 1, 1, 1],
  )
  t.match(notices[1]?.message, /altered .*\(perf-sysstat is not there any more\): c$/)
})

t.test('a notice has the times of the first pod and of the last', async (t) => {
  const times = ['2026-01-01T12:00:05Z', '2026-01-01T11:00:05Z', '2026-01-02T12:00:05Z']
  const notices = noticesOf(times.map((created, place) => found(`p-${place}`, { created })))
  t.match(notices, [{ first: times[1], last: times[2] }])
})

t.test('its Event is on the owner, and counts the pods', async (t) => {
  const detail = 'no node is known to hold observer:1, the image of perf-sysstat'
  const pods = ['a', 'b'].map((pod) => found(pod, { reason: 'observer-unavailable', detail }))
  const [event] = noticesOf(pods).map((notice) => eventOf(notice, 'ridealong.0'))
  t.match(event, {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'ridealong.0', namespace: 'hpc' },
    involvedObject: { ...JOB, namespace: 'hpc' },
    type: 'Warning',
    reason: 'ObserverUnavailable',
    message: `left without observers, since ${detail}: a, b`,
    count: 2,
    source: { component: 'ridealong' },
  })
})
