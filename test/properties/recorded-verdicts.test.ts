import { readFileSync } from 'node:fs'
import t from 'tap'
import { valueIn } from '../../src/runs/efficiency/factor.ts'
import { assessRun } from '../../src/runs/report/assess.ts'
import {
  assessRecorded,
  readRecorded,
  recordedEnds,
  recordedLogs,
} from '../src/runs/report/recorded-run.ts'

// The runs of test/logs/verdict. Its README says what was true of them.

const RECORDED = new URL('../logs/verdict/', import.meta.url)

/** What the processes of steps.c measured themselves, in seconds. */
function measured(folder: string) {
  const text = readFileSync(new URL(`${folder}/output.txt`, RECORDED), 'utf8')
  const lines = [...text.matchAll(/^rank .*since MPI_Init (\S+),.*CPU outside (\S+),.*$/gm)]
  return lines.map(([, elapsed, computing]) => ({
    elapsed: Number(elapsed),
    computing: Number(computing),
  }))
}

for (const folder of ['healthy', 'sleeping', 'storage', 'oversubscribed', 'neighbor', 'throttled'])
  t.test(`computing is the CPU time outside of MPI: ${folder}`, async (t) => {
    const times = measured(folder)
    const elapsed = Math.max(...times.map((one) => one.elapsed))
    const computing = times.reduce((sum, one) => sum + one.computing, 0) / times.length
    const { root, processes } = assessRecorded(folder).efficiency
    const efficiency = valueIn(root, 'efficiency') ?? 0
    t.ok(Math.abs(efficiency - computing / elapsed) < 0.01, `${efficiency}, ${computing / elapsed}`)
    t.equal(processes.length, times.length)
    for (const { split, elapsed, inMpi } of processes) {
      const outside = split.computing + (split.storage ?? 0) + (split.idle ?? 0) + split.delayed
      t.ok(Math.abs(outside - (elapsed - inMpi)) < 1e-9, 'the time outside of MPI is divided')
    }
  })

t.test('where the time outside of MPI went', async (t) => {
  const factors = (folder: string) => {
    const { root } = assessRecorded(folder).efficiency
    return (['storage', 'activity', 'platform'] as const).map((name) => valueIn(root, name))
  }
  const [, idle = 0] = factors('sleeping')
  t.ok(idle !== null && idle < 0.15, 'the ranks slept for most of the time')
  const [storage = 0] = factors('storage')
  t.ok(storage !== null && storage < 0.5, 'the ranks waited for storage')
  for (const folder of ['healthy', 'oversubscribed', 'throttled']) {
    const [unknown, activity = 0] = factors(folder)
    t.equal(unknown, null)
    t.ok(activity !== null && activity > 0.97, `${folder}: the ranks had no idle time`)
  }
})

t.test('who used the processors for which threads waited', async (t) => {
  const findingOf = (folder: string) => assessRecorded(folder).found.findings[0]
  const [own, others] = [findingOf('oversubscribed'), findingOf('neighbor')]
  t.match(
    own?.sentence,
    /but the pod has more busy threads than processors: its threads used 93\.3 % of the 2 processors/,
  )
  t.notMatch(own?.sentence, /lesser extent/, 'the four processes are named once, together')
  t.match(
    own?.advice,
    /^Let the pod run on more processors, or start no more processes and threads /,
  )
  t.match(
    others?.sentence,
    /but processes outside of the pod used its processors: the pod used 5\.84 % of the 2 processors/,
  )
  t.match(others?.advice, /^Request as many processors as the processes use /)
  for (const folder of ['oversubscribed', 'neighbor']) {
    const [{ cause = '?' } = {}] = findingOf(folder)?.pods ?? []
    t.match(assessRecorded(folder).verdict, `: ${cause} (platform 0.`)
  }
})

const SEEN = 'MPI, processors, memory, network traffic'
const NOT_STORAGE = 'Not looked at: storage.'
const NOT_MPI = 'Not looked at: waiting and hangs in MPI (needs mpi-trace), storage.'

/** The verdicts of the runs with all metrics. */
const WITH_MPI: Readonly<Record<string, string>> = {
  healthy:
    `Took 24 s on 2 MPI ranks in 1 pod. Nothing that mpi-trace and vitals see (${SEEN}) held ` +
    `this run up: 91 % of the time was spent computing. ${NOT_STORAGE}`,
  cut:
    'Took at least 9.01 s on 2 MPI ranks in 1 pod; its end is not known. MPI ranks 0-1 had not ' +
    'called MPI_Finalize when the log ended. Nothing that mpi-trace and vitals see ' +
    `(${SEEN}) held this run up until then: 92 % of the time was spent computing. Not looked at: ` +
    'storage, how the containers ended (the output of collect says it).',
  hang:
    'Took 33.1 s on 2 MPI ranks in 1 pod and failed. Since 5 s after the start, MPI rank 0 waits ' +
    'in MPI_Allreduce number 268 on MPI_COMM_WORLD. MPI rank 1 has not come: it sleeps in a ' +
    `system call. The efficiency is not known: the job made no progress. ${NOT_STORAGE}`,
  crash:
    'Took 15 s on 2 MPI ranks in 1 pod and failed. Pod 0 failed: container app ended with exit ' +
    'code 139 (SIGSEGV), 11.8 s after the first sample. Efficiency 0.90: the work was even (load ' +
    `balance 1.00). ${NOT_STORAGE}`,
  sampled:
    'Took 24 s on 2 MPI ranks. The efficiency is not known: mpi-trace has rows of only 1 of the ' +
    `2 processes of the MPI job, which has no identifier. ${NOT_STORAGE}`,
  sleeping:
    'Took 24.1 s on 2 MPI ranks in 1 pod. Efficiency 0.09: the processes were idle or waited for ' +
    `storage (activity 0.10); the work was even (load balance 1.00). ${NOT_STORAGE}`,
}

for (const [folder, text] of Object.entries(WITH_MPI))
  t.test(`the verdict of ${folder}, with mpi-trace and vitals`, async (t) => {
    t.equal(assessRecorded(folder).verdict, text)
  })

/** The verdicts of the runs with vitals alone. */
const WITH_VITALS: Readonly<Record<string, string>> = {
  healthy:
    'Took 21 s on 1 pod. Nothing that vitals sees (processors, memory, network traffic) held ' +
    `this run up: a thread ran for 96 % of the time. ${NOT_MPI}`,
  hanging:
    'Took at least 21 s on 1 pod; its end is not known. The end of the log hang-0.vitals.log is ' +
    'missing. Nothing that vitals sees (processors, memory, network traffic) held this run up ' +
    'until then: a thread ran for 98 % of the time. Not looked at: waiting and hangs in ' +
    'MPI (needs mpi-trace), storage, how the containers ended (the output of collect says it).',
}

for (const [folder, text] of Object.entries(WITH_VITALS))
  t.test(`the verdict of ${folder}, with vitals alone`, async (t) => {
    t.equal(assessRecorded(folder, /vitals/).verdict, text)
  })

t.test('an area that an unknown library may use in some pod was not looked at', async (t) => {
  const isKept = (pod: string, metric: string) => pod === 'killed-0' || metric === 'vitals'
  const logs = recordedLogs('killed').filter(({ pod, metric }) => isKept(pod, metric))
  const lookedAt = (withoutLibraries: readonly string[]) => {
    const read = logs.map((log) => {
      const isKnown = !withoutLibraries.includes(log.pod)
      return isKnown ? log : { ...log, text: log.text.replaceAll(/"libraries":"[^"]*",/g, '') }
    })
    const { seen, gaps } = assessRun(readRecorded(read, recordedEnds('killed'))).looked
    const places = gaps.filter(({ isOfTool }) => isOfTool).map(({ what, pods }) => [what, pods])
    return { isSeen: seen.includes('MPI'), places }
  }
  t.strictSame(lookedAt([]), { isSeen: false, places: [['waiting and hangs in MPI', ['1']]] })
  t.strictSame(lookedAt(['killed-1']), {
    isSeen: false,
    places: [['MPI, GPUs, and Python, if the program uses them', ['1']]],
  })
  t.strictSame(lookedAt(['killed-0', 'killed-1']), {
    isSeen: false,
    places: [
      ['MPI, if the program uses it', ['1']],
      ['GPUs and Python, if the program uses them', null],
    ],
  })
})

t.test('without the status of pods, only MPI_Finalize says that a job finished', async (t) => {
  const verdictOf = (folder: string, metrics: RegExp) => {
    return assessRecorded(folder, metrics, {}).verdict
  }
  t.match(verdictOf('crash', /./), /did not finish\. MPI ranks 0-1 ended without MPI_Finalize/)
  t.match(verdictOf('crash', /vitals/), /, how the containers ended \(the output of collect/)
  t.notMatch(verdictOf('healthy', /./), /how the containers ended/)
  t.match(verdictOf('healthy', /vitals/), /how the containers ended/)
})

t.test(
  'the rules that were not checked include those of metrics that would say more',
  async (t) => {
    const rulesOf = (metrics: RegExp) =>
      assessRecorded('hang', metrics).found.notChecked.map(
        ({ rule, reason }) => `${rule}: ${reason}`,
      )
    const expected = 'no-progress: metric mpi-trace was not collected'
    t.ok(rulesOf(/vitals/).includes(expected))
    t.notOk(rulesOf(/./).some((text) => text.startsWith('no-progress')))
  },
)
