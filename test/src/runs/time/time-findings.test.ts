import t from 'tap'
import { type RunPod, readPodFacts } from '../../../../src/runs/facts/pod-facts.ts'
import { mapParts, type TimePart } from '../../../../src/runs/time/parts.ts'
import type { DividedTime } from '../../../../src/runs/time/run-time.ts'
import { findInTime } from '../../../../src/runs/time/time-findings.ts'
import { textOf } from '../../../docs/pages.ts'

/** The second attempt of a pod, whose first one was killed for memory. */
const POD = {
  metadata: { name: 'lammps-0', namespace: 'hpc', uid: 'a' },
  spec: {
    nodeName: 'worker-3',
    containers: [{ name: 'lammps', image: 'ghcr.io/rse-ops/lammps:2023' }],
  },
  status: {
    phase: 'Running',
    containerStatuses: [
      {
        name: 'lammps',
        restartCount: 1,
        state: { running: { startedAt: '2026-11-30T12:20:00Z' } },
        lastState: { terminated: { exitCode: 137, reason: 'OOMKilled' } },
      },
    ],
  },
}

type Parts = Partial<Record<TimePart, number>>

/** Returns the time of places with these parts, in seconds. */
function timeOf(pods: readonly RunPod[], places: readonly Parts[]): DividedTime {
  const [first = {}] = places
  const whole = Object.values(first).reduce((sum, seconds) => sum + seconds, 0)
  return {
    from: 0,
    to: whole * 1000,
    places: places.map((known, index) => ({
      name: String(index),
      pods,
      seconds: mapParts((part) => known[part] ?? 0),
      restarts: 1,
    })),
    reasons: [],
  }
}

function sentencesOf(pods: readonly RunPod[], places: readonly Parts[]): readonly string[] {
  return findInTime(timeOf(pods, places)).map(({ name, sentence }) => `${name}: ${sentence}`)
}

const sentences = (...places: readonly Parts[]) =>
  sentencesOf([readPodFacts(POD, new Set())], places)

/** The samples of the documentation. */
const SAMPLES: readonly (readonly [string, readonly Parts[]])[] = [
  [
    'lost-to-restarts: restarts cost 10 min of 60 min, most in pod 1 (20 min): ' +
      'exit code 137 (SIGKILL, OOMKilled)',
    [
      { running: 3600, lost: 0 },
      { running: 2400, lost: 1200 },
    ],
  ],
  [
    'slow-images: images, volumes and networks of the pods took 9 min of 58 min, most in pod 1 ' +
      '(12 min) on node worker-3 with the image ghcr.io/rse-ops/lammps:2023',
    [
      { preparing: 60, pulling: 300, running: 3120 },
      { preparing: 60, pulling: 660, running: 2760 },
    ],
  ],
  [
    'late-pods: for 4 min of 40 min, pods ran before the last one started, pod 1',
    [
      { partial: 480, running: 1920 },
      { preparing: 480, running: 1920 },
    ],
  ],
  [
    'long-queue: its pods waited 3 h to be created and scheduled, longer than they ran (31 min)',
    [{ creating: 60, scheduling: 10_740, running: 1860 }],
  ],
]

t.test('each finding about the time is documented with the sentence that it makes', async (t) => {
  const page = textOf('docs/runs.md').replaceAll(/\s+/g, ' ')
  for (const [sample, places] of SAMPLES) {
    t.ok(sentences(...places).includes(sample), `${sentences(...places)}`)
    const [name = '', sentence = ''] = sample.split(/: (.*)/)
    t.ok(page.includes(`| \`${name}\` | ${sentence} |`), name)
  }
})

t.test('little time is no finding', async (t) => {
  t.strictSame(sentences({ lost: 59, running: 100 }), [], 'less than a minute')
  t.strictSame(sentences({ lost: 90, running: 900 }), [], 'less than a tenth')
  t.strictSame(sentences({ lost: 100, running: 900 }).length, 1)
  t.strictSame(sentences({ scheduling: 900, running: 900 }), [], 'not longer than the run')
})

t.test('a pod whose node, image and ends are not known is found without them', async (t) => {
  const pods = [readPodFacts({ metadata: POD.metadata }, new Set())]
  t.strictSame(sentencesOf(pods, [{ lost: 600, pulling: 400 }]), [
    'lost-to-restarts: restarts cost 10 min of 16 min 40 s',
    'slow-images: images, volumes and networks of the pods took 6 min 40 s of 16 min 40 s',
  ])
})
