import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { durationText } from '../../src/lib/duration.ts'
import { rounded } from '../../src/lib/round.ts'
import { measureRun } from '../../src/runs/compare/measure-run.ts'
import { factorText, valueIn } from '../../src/runs/efficiency/factor.ts'
import { assessRun } from '../../src/runs/report/assess.ts'
import { reportModel } from '../../src/runs/report/data.ts'
import { findingsDocument } from '../../src/runs/report/document/findings-document.ts'
import { overviewData } from '../../src/runs/report/first-screen/overview.ts'
import { formatReport } from '../../src/runs/report/first-screen/text.ts'
import { run } from '../cli/command.ts'
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

t.test(
  'without calls, the time of a pod is divided between running, waiting and storage',
  async (t) => {
    const { efficiency } = assessRecorded('storage', /vitals/)
    const [shares] = efficiency.pods.map((pod) => pod.shares)
    // The means of the two processes: 22 % ran, 36 % waited for a processor, 37 % for storage.
    t.ok(Math.abs((shares?.computing ?? 0) - 0.22) < 0.02, `computing ${shares?.computing}`)
    t.ok(Math.abs((shares?.waiting ?? 0) - 0.36) < 0.025, `waiting ${shares?.waiting}`)
    t.ok(Math.abs((shares?.storage ?? 0) - 0.37) < 0.02, `storage ${shares?.storage}`)
    t.equal(factorText(valueIn(efficiency.root, 'storage') ?? 1), '0.63')
  },
)

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
    /but processes outside of the pod used its processors: the pod used 5\.84 % of the 2 processors on which it may run, and could have used 2\.0\d? processors/,
  )
  t.match(others?.advice, /^Request as many processors as the pod could have used /)
  for (const folder of ['oversubscribed', 'neighbor']) {
    const [{ cause = '?' } = {}] = findingOf(folder)?.pods ?? []
    t.match(assessRecorded(folder).verdict, `: ${cause} (platform 0.`)
  }
})

t.test('a finding loses no more time than the counters of its processes say', async (t) => {
  // The columns iodelay and run_delay of the two ranks grew by at most these seconds.
  const counted = new Map([
    ['waiting-for-storage', 8.96],
    ['waiting-for-cpu', 8.687],
  ])
  const { findings } = assessRecorded('storage').found
  t.strictSame(new Set(findings.map(({ rule }) => rule)), new Set(counted.keys()))
  for (const { rule, pods } of findings)
    t.ok((pods[0]?.lost ?? 0) <= (counted.get(rule) ?? 0), rule)
})

t.test('the time lost to throttling is that until the end, if a summary has it', async (t) => {
  // The list `containers` of the summary: 22.1 s throttled, 24.4 CPU seconds in 24.8 s.
  const lost = (text: (log: string) => string) => {
    const logs = recordedLogs('throttled').map((log) => ({ ...log, text: text(log.text) }))
    const [found] = assessRun(readRecorded(logs, recordedEnds('throttled'))).found.findings
    return [found?.rule, Math.round((found?.pods[0]?.lost ?? 0) * 10) / 10]
  }
  t.strictSame(
    lost((text) => text),
    ['throttled', 11.8],
  )
  t.strictSame(
    lost((text) => text.split('SUMMARY START')[0] ?? ''),
    ['throttled', 10],
  )
})

const SEEN = 'MPI, processors, memory, network traffic'
const NOT_STORAGE = 'Not looked at: storage.'
const MPI_TOO = 'needs ridealong.dev/inject: "vitals,mpi-trace"'
const NOT_MPI = `Not looked at: waiting and hangs in MPI (${MPI_TOO}), storage.`

/** The verdicts of the runs with all metrics. */
const WITH_MPI: Readonly<Record<string, string>> = {
  healthy:
    `Took 24.1 s on 2 MPI ranks in 1 pod. Nothing that mpi-trace and vitals see (${SEEN}) held ` +
    `this run up: 91 % of the time was spent computing. ${NOT_STORAGE}`,
  cut:
    'Took at least 9.43 s on 2 MPI ranks in 1 pod; its end is not known. MPI ranks 0-1 had not ' +
    'called MPI_Finalize when the log ended. Nothing that mpi-trace and vitals see ' +
    `(${SEEN}) held this run up until then: 92 % of the time was spent computing. Not looked at: ` +
    'storage, how the containers ended (the output of collect says it).',
  hang:
    'Took 30.4 s on 2 MPI ranks in 1 pod and failed. Since 6 s after the start, MPI rank 0 waits ' +
    'in MPI_Allreduce number 268 on MPI_COMM_WORLD. MPI rank 1 has not come: it sleeps in a ' +
    `system call. The efficiency is not known: the job made no progress. ${NOT_STORAGE}`,
  hanging:
    'Took at least 21.4 s on 2 MPI ranks in 1 pod; it makes no progress, and its end is not ' +
    'known. Since 6 s after the start, MPI rank 0 waits in MPI_Allreduce number 268 on ' +
    'MPI_COMM_WORLD. MPI rank 1 has not come: it sleeps in a system call. The efficiency is not ' +
    'known: the job made no progress. Not looked at: storage, how the containers ended (the ' +
    'output of collect says it).',
  'crash-at-start':
    'Ran on 2 MPI ranks in 1 pod and failed. Pod 0 failed: container app ended with exit code ' +
    '139 (SIGSEGV), about 2 s after the first sample. The efficiency is not known: no pod has ' +
    `rows of two timepoints. ${NOT_STORAGE}`,
  crash:
    'Took 12.5 s on 2 MPI ranks in 1 pod and failed. Pod 0 failed: container app ended with exit ' +
    'code 139 (SIGSEGV), about 12 s after the first sample. MPI rank 1 ended first, without ' +
    'MPI_Finalize, while MPI rank 0 waited in MPI_Allreduce number 540 on MPI_COMM_WORLD. ' +
    `Efficiency 0.90 in the first 11.1 s: the work was even (load balance 1.00). ${NOT_STORAGE}`,
  killed:
    'Took at least 11.9 s on 2 MPI ranks in 2 pods and failed. Pod 1 failed: container app ended ' +
    'with exit code 137 (SIGKILL), about 11 s after the first sample. Pod 0 failed in the same ' +
    'second: container app ended with exit code 7. The efficiency is not known: the calls of MPI ' +
    `rank 1 were recorded for only 9.11 s of the 11.9 s of the job. ${NOT_STORAGE}`,
  sampled:
    'Took 24 s on 2 MPI ranks. The efficiency is not known: mpi-trace has rows of only 1 of the ' +
    `2 processes of the MPI job, which has no identifier. ${NOT_STORAGE}`,
  sleeping:
    'Took 24.1 s on 2 MPI ranks in 1 pod. Efficiency 0.09: the processes were idle ' +
    `(activity 0.10); the work was even (load balance 1.00). ${NOT_STORAGE}`,
}

for (const [folder, text] of Object.entries(WITH_MPI))
  t.test(`the verdict of ${folder}, with mpi-trace and vitals`, async (t) => {
    t.equal(assessRecorded(folder).verdict, text)
  })

/** The verdicts of the runs with vitals alone. */
const WITH_VITALS: Readonly<Record<string, string>> = {
  healthy:
    'Took 24.9 s on 1 pod. Nothing that vitals sees (processors, memory, network traffic) held ' +
    `this run up: a process of steps.openmpi ran for 96 % of the sampled 21 s. ${NOT_MPI}`,
  hanging:
    'Took at least 21 s on 1 pod; its end is not known. The end of the log hang-0.vitals.log is ' +
    'missing. Whether the job made progress is not known: waiting and hangs in MPI were not ' +
    `looked at (${MPI_TOO}), and a process that waits in MPI counts as running, so busy ` +
    'processors do not show progress. Nothing that vitals sees (processors, memory, network ' +
    'traffic) held this run up until then: a process of steps.openmpi ran for 98 % of the time. ' +
    'Not looked at: storage, how the containers ended (the output of collect says it).',
  throttled:
    'Took 24.8 s on 1 pod. Efficiency at most 0.50 in the sampled 21 s: the CPU limit kept ' +
    `threads from running (platform 0.50). Worst finding: Throttled (pod 0, 11.8 s). ${NOT_MPI}`,
  sleeping:
    'Took 24.9 s on 1 pod. Efficiency at most 0.27 in the sampled 21 s: the processes were idle ' +
    'or waited for storage (activity 0.37); threads waited for a processor (platform 0.71). ' +
    NOT_MPI,
}

for (const [folder, text] of Object.entries(WITH_VITALS))
  t.test(`the verdict of ${folder}, with vitals alone`, async (t) => {
    t.equal(assessRecorded(folder, /vitals/).verdict, text)
  })

t.test('the collected file of a run has its log and its end', async (t) => {
  const file = fileURLToPath(new URL('throttled/throttled.jsonl', RECORDED))
  const { out } = await run(['report', file, '-o', 'json'])
  t.equal(JSON.parse(out).verdict, assessRecorded('throttled', /vitals/).verdict)
})

t.test('a run that may hang says how to look at it, in all outputs', async (t) => {
  const logs = recordedLogs('hanging').filter(({ metric }) => metric === 'vitals')
  const model = reportModel(readRecorded(logs), 'auto')
  const text = formatReport('', model)
  const document = findingsDocument(model, '')
  const advice =
    'If the job still runs, ridealong stacks KIND/NAME -n hpc shows in which calls its ' +
    'processes sleep.'
  t.strictSame([model.page.advice, document.advice], [advice, advice])
  t.ok(text.includes(`What to do: ${advice}`))
  const unknown =
    'Not known: storage, as waits for storage were not measured and count as idle time; ' +
    'waiting in MPI, which was not looked at and counts as running'
  t.equal(overviewData(model.page).unknown, unknown)
  t.ok(text.includes(unknown))
  t.match(document.notLookedAt, [{ what: 'waiting and hangs in MPI', how: MPI_TOO, pods: null }])
})

/** How a container ended, and when one of its processes was last seen after the first sample. */
const ENDS = {
  crash: ['exit code 139 (SIGSEGV), about 12 s', 12.032],
  'crash-at-start': ['exit code 139 (SIGSEGV), about 2 s', 0],
  hang: ['exit code 1, about 30 s', 30.08],
  killed: ['exit code 137 (SIGKILL), about 11 s', 11.853],
} as const

for (const [folder, [text, lastSeen]] of Object.entries(ENDS))
  t.test(`the time of a failure is known to a second: ${folder}`, async (t) => {
    const { findings } = assessRecorded(folder).found
    const found = findings.find(({ rule }) => rule === 'container-failed')
    t.match(found?.sentence, `: container app ended with ${text} after the first sample.`)
    const { facts = [] } = found?.pods.find(({ pod }) => pod === '0') ?? {}
    const time = facts.find(({ unit }) => unit === 's')
    t.ok((time?.value ?? 0) >= lastSeen, 'the number is not before a sample of a process')
  })

t.test('of two pods that failed in the same second, none is the first', async (t) => {
  const [failed] = assessRecorded('killed').found.findings
  t.match(
    failed?.sentence,
    / sample\. Pod 0 failed in the same second: container app ended with exit code 7\.$/,
  )
  t.match(failed?.advice, /each of these containers/)
})

t.test('a job that makes no progress failed only if its end says so', async (t) => {
  const verdictOf = (folder: string, ends: object) => assessRecorded(folder, /./, ends).verdict
  t.match(
    verdictOf('hang', {}),
    /^Took 30\.4 s on 2 MPI ranks in 1 pod and did not finish\. Since /,
  )
  const { kind, completion } = assessRecorded('hanging')
  t.strictSame([kind, completion.state], ['partly-seen', 'unfinished'])
  const logs = recordedLogs('hanging').filter(({ metric }) => metric === 'mpi-trace')
  t.match(
    assessRun(readRecorded(logs), 'so far').verdict,
    / in 1 pod and makes no progress\. Since /,
  )
})

t.test('a job that has ended need not be ended', async (t) => {
  const adviceOf = (folder: string, ends = recordedEnds(folder)) => {
    const { findings } = assessRecorded(folder, /./, ends).found
    return findings.find(({ rule }) => rule === 'no-progress')?.advice
  }
  const goesOn = /its log, its stack, .* still uses its processors: end it\.$/
  t.match(adviceOf('hanging'), goesOn)
  t.match(
    adviceOf('hanging', recordedEnds('hang')),
    /: its log, and other findings .* datatypes that match\.$/,
  )
  for (const ends of [recordedEnds('hang'), {}])
    t.match(adviceOf('hang', ends), /: its log, and other findings .* datatypes that match\.$/)
})

t.test('without progress, there is one reason why the efficiency is not known', async (t) => {
  for (const folder of ['hang', 'hanging']) {
    const { document } = numbersOf(folder)
    t.equal(document.efficiency.factors[0]?.missing, 'the job made no progress')
  }
})

t.test('the note about a log without an end says how the container ended', async (t) => {
  const noteOf = (ends: object) => {
    const { notices } = reportModel(readRecorded(recordedLogs('killed'), ends), 'auto').page
    return notices.find((text) => text.includes('its end is missing'))
  }
  t.match(
    noteOf(recordedEnds('killed')),
    / missing, although container app ended with exit code 137 \(SIGKILL\): the observer was killed/,
  )
  t.match(noteOf({}), / missing: the observer still ran, or the log was cut off\.$/)
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
  t.match(
    verdictOf('crash', /./),
    /did not finish\. MPI ranks 0-1 ended without MPI_Finalize, .* signal\. MPI rank 1 ended first/,
  )
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

/** The recorded runs that have rows of several timepoints. */
const ALL = [
  ...['healthy', 'sleeping', 'storage', 'oversubscribed', 'neighbor', 'throttled', 'crash'],
  ...['killed', 'hang', 'hanging', 'cut', 'sampled'],
]

/** Numbers of a run as all outputs have them, with the place of each. */
function numbersOf(folder: string) {
  const read = () => readRecorded(recordedLogs(folder), recordedEnds(folder))
  const model = reportModel(read(), 'auto')
  const document = findingsDocument(model, folder)
  const compared = measureRun(read(), folder)
  const comparedValue = (name: string) => {
    return compared.quantities.find(({ quantity }) => quantity === name)?.value ?? null
  }
  return { model, document, comparedValue, overview: overviewData(model.page) }
}

type Numbers = ReturnType<typeof numbersOf>

/** Compares the time of a run in the verdict, the JSON, the page and a comparison. */
function checkTime(t: Test, { model, document, comparedValue, overview }: Numbers) {
  const { verdict } = model.page
  const took = durationText(document.duration_seconds)
  t.ok(verdict.includes(`Took ${took} on`) || verdict.includes(`at least ${took} on`), verdict)
  t.equal(overview.duration, document.duration_seconds)
  t.ok(document.duration_seconds >= model.efficiency.elapsed, 'no job is longer than its run')
  // A run that did not finish has no time in a comparison.
  const time = comparedValue('ridealong.run.duration') ?? document.duration_seconds
  t.equal(time, document.duration_seconds)
}

/** Compares the factors of the efficiency in the JSON, a comparison, the text and the page. */
function checkFactors(t: Test, { model, document, comparedValue }: Numbers) {
  const text = formatReport('', model).join('\n').toLowerCase()
  for (const { name, title, value } of document.efficiency.factors) {
    const quantity = name === 'efficiency' ? '' : `.${name.replaceAll('-', '_')}`
    t.equal(rounded(comparedValue(`ridealong.efficiency${quantity}`)), value, title)
    const shown = value === null ? null : factorText(value)
    if (shown !== null) t.ok(text.includes(`${title} ${shown}`.toLowerCase()), `${title} ${shown}`)
    const onPage = model.page.factors.find((factor) => factor.title === title)?.text
    t.match(onPage, shown ?? 'not known')
  }
}

/** Compares the times of the processes of MPI in the tables, the JSON and the activity. */
function checkProcesses(t: Test, { model, document }: Numbers) {
  const ranks = document.pods.flatMap(({ mpi_ranks: own }) => own ?? [])
  const rows = (document.mpi ?? []).flatMap(({ processes }) => processes)
  for (const [index, { mpiRank, inMpi, elapsed }] of model.efficiency.processes.entries()) {
    const times = [rounded(elapsed), rounded(inMpi)]
    const rank = ranks.find((one) => one.mpi_rank === mpiRank)
    t.strictSame([rank?.elapsed_seconds, rank?.mpi_seconds], times, 'the pods of the JSON')
    const row = rows.find((one) => one.mpiRank === mpiRank)
    t.strictSame([row?.elapsedSeconds, row?.mpiSeconds], times, 'the table of MPI')
    const states = Object.values(document.activity.lines[index]?.meanPercents ?? {})
    const sum = states.reduce<number>((all, percent) => all + (percent ?? 0), 0)
    t.ok(Math.abs(sum - 100) < 0.1, `the states are all of the time: ${sum} %`)
  }
}

for (const folder of ALL)
  t.test(`one number has one value in all outputs: ${folder}`, async (t) => {
    const numbers = numbersOf(folder)
    checkTime(t, numbers)
    checkFactors(t, numbers)
    checkProcesses(t, numbers)
    const { document, comparedValue } = numbers
    const seconds = document.pods.flatMap(({ programs }) => programs.map((one) => one.cpu_seconds))
    const cpu = seconds.reduce<number>((sum, one) => sum + (one ?? 0), 0)
    t.ok(Math.abs(cpu - (comparedValue('process.cpu.time') ?? 0)) < 1e-3, `CPU time: ${cpu} s`)
  })

t.test('bytes are not known if the time of the first rates is not', async (t) => {
  const { pods } = numbersOf('cut').document
  for (const { program, bytes_read, bytes_written } of pods.flatMap(({ programs }) => programs))
    t.strictSame([bytes_read, bytes_written], [null, null], program)
})

t.test('a note about several logs has the word each once, after their names', async (t) => {
  const { notices } = numbersOf('killed').model.page
  const shared = notices.filter((text) => text.startsWith('killed-0.vitals.log, killed-1'))
  t.ok(shared.length > 1)
  for (const text of shared) {
    t.match(text, /^killed-0\.vitals\.log, killed-1\.vitals\.log: each says: /)
    t.equal(text.match(/\beach\b/g)?.length, 1)
  }
})

t.test('a job has ended only if its own container has', async (t) => {
  const done = { exitCode: 0, reason: 'Completed', signal: null, finishedAt: null }
  const more = { restarted: false, deleted: false }
  const setup = { container: 'setup', ...done, ...more }
  const app = { ...setup, container: 'app' }
  const said = (ends: readonly object[]) => assessRecorded('hanging', /./, { 'hang-0': ends })
  t.match(said([setup]).verdict, /; it makes no progress, and its end is not known\./)
  t.notMatch(said([setup, app]).verdict, 'makes no progress')
})

t.test('a log without CPU times names the metric that has them', async (t) => {
  const url = new URL('../logs/all-metrics/lammps-0.io-sysstat.log', import.meta.url)
  const log = { name: 'lammps-0', pod: 'lammps-0', metric: 'io-sysstat' }
  const run = readRecorded([{ ...log, text: readFileSync(url, 'utf8') }])
  t.match(assessRun(run).verdict, 'the CPU time of the processes was not read')
})
