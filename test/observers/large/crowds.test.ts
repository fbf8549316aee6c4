import { readdirSync } from 'node:fs'
import t, { type Test } from 'tap'
import { observer, type Pod, podOf, type Running, until } from '../pod.ts'
import { observerTests, parse, type Row, summaryOf, timepointsIn } from '../prerequisites.ts'
import { moreTimepoints, startCrowd } from './crowd.ts'
import { type MemoryGroup, memoryGroup, reasonToSkipGroups } from './memory-group.ts'
import { peakResident, processorShare, residentData } from './processor-time.ts'

// Tests of an observer in pods with thousands of processes or threads. The observer is in a memory
// cgroup with the memory limit of the catalog.

const options = { skip: observerTests().skip || reasonToSkipGroups(), timeout: 600_000 }
const MEBIBYTE = 1 << 20
const LIMIT = 32 * MEBIBYTE
const PERF = observer('perf-sysstat')
const ENV = {
  RIDEALONG_TARGET_CONTAINER: 'app',
  RIDEALONG_OPTION_RATE: '5',
  RIDEALONG_OPTION_MAX_LOG: '256',
}

/** Starts an observer in a memory cgroup. The observer can read the limit of this cgroup. */
function observe({ run }: Pod, group: MemoryGroup, env: NodeJS.ProcessEnv): Promise<Running> {
  return run('perf-sysstat', ['sh', '-c', `${group.join}; ${group.show}; exec ${PERF}`], env)
}

/** Waits for two timepoints, and checks the processor time and the memory of the observer. */
async function watch(t: Test, watching: Running, group: MemoryGroup): Promise<void> {
  await moreTimepoints(watching, 2)
  const share = await processorShare(watching.pid, 10)
  t.comment(`${share} of a core, at most ${peakResident(watching.pid)} KiB resident`)
  // The observer's scans use at most a quarter of a core on average. The share in ten seconds can
  // be greater, because a whole scan can be in a shorter part of its cycle.
  t.ok(share < 0.5, `the observer uses ${share} of a core, less than a half`)
  t.equal(group.kills(), 0, 'the kernel killed no process of the group')
  t.ok(group.peak() <= LIMIT, `the group used ${group.peak()} bytes, at most ${LIMIT}`)
}

/** Ends an observer, and returns the rows of its last timepoint by section. */
async function end(t: Test, watching: Running): Promise<Readonly<Record<string, readonly Row[]>>> {
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  const { data } = parse('perf-sysstat', watching.log())
  t.equal(data.length, timepointsIn(watching.log()))
  t.match(watching.log().trimEnd(), /SUMMARY END$/)
  return data.at(-1) ?? {}
}

t.test(
  'each of 5,000 processes has rows, and the data of the observer take at most 14 MiB',
  options,
  async (t) => {
    const pod = await podOf(t)
    const { count } = await startCrowd(t, pod, 5000)
    const group = memoryGroup(t, LIMIT)
    const watching = await observe(pod, group, ENV)
    await watch(t, watching, group)
    const size = residentData(watching.pid)
    t.ok(size <= 14 * 1024, `${size} KiB of data are resident`)
    const last = await end(t, watching)
    for (const [section, rows] of Object.entries(last)) {
      const pids = new Set(rows.map(({ pid }) => pid))
      t.equal(pids.size, count, `all processes have rows in the section ${section}`)
    }
    t.match(summaryOf(watching.log())[0], { processes: count, processes_left_out: undefined })
  },
)

t.test(
  'in a pod with 15,000 processes, the observer counts the processes for which it has no memory',
  options,
  async (t) => {
    const pod = await podOf(t)
    await startCrowd(t, pod, 15_000)
    const group = memoryGroup(t, LIMIT)
    const watching = await observe(pod, group, ENV)
    await watch(t, watching, group)
    const known = Number(/left out: there is memory for (\d+)/.exec(watching.log())?.[1])
    t.ok(known > 7500)
    // The observer skips process 1, which is the pause process of a pod.
    const isProcess = (name: string) => /^\d+$/.test(name) && name !== '1'
    const count = readdirSync(`/proc/${pod.pid}/root/proc`).filter(isProcess).length
    t.ok(((await end(t, watching)).policy?.length ?? 0) > 5000)
    const [whole] = summaryOf(watching.log())
    t.equal(whole?.processes_left_out, count - known)
  },
)

/** Starts programs with names of 255 bytes. JSON escapes 250 of these bytes with a backslash. */
const NAMED = `
import os, sys, time
for number in range(int(sys.argv[1])):
    name = '%05d' % number + '"' * 250
    if os.fork() == 0: os.execv('/bin/sleep', [name, '3600'])
print('ready', flush=True)
time.sleep(3600)`

for (const hasRows of ['false', 'true']) {
  t.test(`long names of 9,000 processes are cut with threads=${hasRows}`, options, async (t) => {
    const pod = await podOf(t)
    const app = await pod.run('app', ['python3', '-c', NAMED, '9000'])
    await until(app, /ready/)
    const group = memoryGroup(t, LIMIT)
    const env = { ...ENV, RIDEALONG_OPTION_THREADS: hasRows }
    const watching = await observe(pod, group, env)
    await watch(t, watching, group)
    const last = await end(t, watching)
    t.match(watching.log(), /ridealong: long names of programs are cut: there is not enough memory/)
    const rows = last.policy ?? []
    t.ok(rows.length > 1000, `${rows.length} processes have rows`)
    t.ok(rows.some(({ program }) => /^\d{5}"{250}$/.test(String(program))))
  })
}

for (const [processes, threads, hasRows] of [
  [1, 100_000, 'false'],
  [20, 5000, 'false'],
  [20, 5000, 'true'],
] as const) {
  const title = `${processes} processes with ${threads} threads each, threads=${hasRows}`
  t.test(
    `the log reports unread threads, and their counters are null: ${title}`,
    options,
    async (t) => {
      const pod = await podOf(t)
      const { count } = await startCrowd(t, pod, processes, threads)
      const group = memoryGroup(t, LIMIT)
      const watching = await observe(pod, group, { ...ENV, RIDEALONG_OPTION_THREADS: hasRows })
      await watch(t, watching, group)
      const last = await end(t, watching)
      t.match(
        watching.log(),
        /ridealong: \d+ threads are left out, because a scan reads at most \d+;/,
      )
      const tables = last.kernel_tables ?? []
      t.equal(sum(tables.map((row) => Number(row.threads))), count)
      t.ok((last.task_switching ?? []).some((row) => row.cswch_s === null))
      t.ok((last.cpu_statistics_task ?? []).every((row) => typeof row.percent_cpu === 'number'))
      t.equal(summaryOf(watching.log())[0]?.context_switches, null)
    },
  )
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
