import { join } from 'node:path'
import t, { type Test } from 'tap'
import { run } from '../../../cli/command.ts'
import { rowsOf } from '../../json-rows.ts'
import { type Row, summaryOf } from '../../prerequisites.ts'
import { type GuestPod, guestTests, type Results, runGuest } from './guest.ts'

// Compares the rows of observers with the kernel's accounts in a virtual machine, whose cgroups are
// of version 2, as on the nodes of all supported versions of Kubernetes. The applications whose
// accounts are compared have ended their work before.

const MIB = 2 ** 20

const PODS: readonly GuestPod[] = [
  {
    name: 'limited',
    steps: ['burn=3', 'touch=30', 'write=8', 'read=4', 'oom=80', 'ready'],
    resources: {
      cpu: { quota: 20_000, period: 100_000 },
      memory: { limit: 48 * MIB, swap: 48 * MIB },
      pids: { limit: 100 },
    },
  },
  {
    // The limit is 30 s away. The finding needs an observer that has watched for at least as long,
    // and even growth in the second half of that time, when the other pods have ended their work.
    name: 'growing',
    steps: ['grow=60', 'ready', 'grow=60'],
    resources: { memory: { limit: 90 * MIB } },
  },
  {
    name: 'nested',
    steps: ['nest', 'burn=2', 'touch=20', 'ready'],
    isWritable: true,
    cgroup: { 'cpu.max': '30000 100000', 'memory.max': String(200 * MIB) },
  },
]

/** The accounts that a row has, by its column: the file of the cgroup, the key, and the unit. */
const ACCOUNTS = {
  nr_periods: ['cpu.stat', 'nr_periods', 1],
  nr_throttled: ['cpu.stat', 'nr_throttled', 1],
  throttled: ['cpu.stat', 'throttled_usec', 1e-6],
  cpu_usage: ['cpu.stat', 'usage_usec', 1e-6],
  cpu_some: ['cpu.pressure', 'some', 1e-6],
  cpu_full: ['cpu.pressure', 'full', 1e-6],
  memory_some: ['memory.pressure', 'some', 1e-6],
  memory_full: ['memory.pressure', 'full', 1e-6],
  io_some: ['io.pressure', 'some', 1e-6],
  io_full: ['io.pressure', 'full', 1e-6],
  memory_current: ['memory.current', '', 1],
  memory_peak: ['memory.peak', '', 1],
  memory_limit: ['memory.max', '', 1],
  memory_high: ['memory.events', 'high', 1],
  memory_max: ['memory.events', 'max', 1],
  oom: ['memory.events', 'oom', 1],
  oom_kill: ['memory.events', 'oom_kill', 1],
  pids_current: ['pids.current', '', 1],
  pids_limit: ['pids.max', '', 1],
} as const satisfies Record<string, readonly [file: string, key: string, unit: number]>

const COLUMNS = Object.keys(ACCOUNTS) as (keyof typeof ACCOUNTS)[]

/** The part of an account by which a row may differ. */
const TOLERANCE = 0.03

const options = guestTests()
const results: Results = options.skip === false ? runGuest(t, PODS) : new Map()

/** Returns a file that a pod has left; empty if there is none. */
const fileOf = (pod: string, name: string) => results.get(pod)?.get(name) ?? ''

/** Returns an account of the kernel in the unit of its column; null for `max`, no limit. */
function accountOf(pod: string, column: keyof typeof ACCOUNTS): number | null {
  const [name, key, unit] = ACCOUNTS[column]
  const text = fileOf(pod, name)
  const pattern = key === '' ? /^(\w+)$/m : new RegExp(`^${key} (?:.*total=)?(\\d+)$`, 'm')
  const [, value] = pattern.exec(text) ?? []
  if (value === undefined) throw new Error(`${name} has no ${key}: ${text}`)
  return value === 'max' ? null : Number(value) * unit
}

function isNear(found: unknown, account: number): boolean {
  // The last digit of a row is a microsecond.
  return Math.abs(Number(found) - account) <= TOLERANCE * account + 1e-6
}

/** Returns the columns in which a row differs from the accounts. */
function differences(pod: string, row: Row): readonly string[] {
  return COLUMNS.filter((column) => {
    const account = accountOf(pod, column)
    return account === null ? row[column] !== null : !isNear(row[column], account)
  })
}

const lastRow = (pod: string, metric: string): Row =>
  rowsOf({ log: () => fileOf(pod, `${metric}.log`) }, 'container').at(-1) ?? {}

/** Returns the names of the findings of a report about the logs of a pod. */
async function findingsOf(t: Test, pod: string): Promise<readonly string[]> {
  const folder = t.testdir({ 'vitals.log': fileOf(pod, 'vitals.log') })
  const { out } = await run(['report', join(folder, 'vitals.log'), '-o', 'json'])
  const { findings } = JSON.parse(out) as { findings: { rule: string }[] }
  return findings.map(({ rule }) => rule)
}

for (const pod of ['limited', 'nested'])
  for (const metric of ['vitals', 'pressure'])
    t.test(`${metric} has the kernel's accounts of the pod ${pod}`, options, async (t) => {
      const row = lastRow(pod, metric)
      t.strictSame(differences(pod, row), [], JSON.stringify(row))
      for (const column of COLUMNS.filter((column) => accountOf(pod, column)))
        t.strictSame(
          differences(pod, { ...row, [column]: Number(accountOf(pod, column)) * 1.05 }),
          [column],
          `a difference of 5 % is noticed: ${column}`,
        )
    })

t.test('the summary has the accounts of I/O', options, async (t) => {
  const disk = /rbytes=(\d+) wbytes=(\d+)/.exec(fileOf('limited', 'io.stat')) ?? []
  t.strictSame(disk.slice(1).map(Number), [4 * MIB, 8 * MIB])
  const [summary] = summaryOf(fileOf('limited', 'vitals.log'))
  t.match(summary, { bytes_read: 4 * MIB, bytes_written: 8 * MIB })
  t.ok(fileOf('limited', 'vitals.message').startsWith('{"metric":"vitals"'))
})

for (const [pod, reached, others] of [
  ['limited', ['throttled', 'oom-killed'], ['memory-growing']],
  ['growing', ['memory-growing'], ['throttled', 'oom-killed']],
] as const)
  t.test(`findings are those of the limits that the pod ${pod} reached`, options, async (t) => {
    const found = await findingsOf(t, pod)
    for (const rule of reached) t.ok(found.includes(rule), `${rule} is one of: ${found}`)
    for (const rule of others) t.notOk(found.includes(rule), `${rule} is none of: ${found}`)
  })

t.test('a container has the limits of its own cgroup', options, async (t) => {
  const limited = lastRow('limited', 'pressure')
  t.match(limited, { cpu_limit: 0.2, unlimited: 'none' })
  // The limits of the pod are above the root of the container's cgroup namespace.
  t.match(lastRow('nested', 'pressure'), { cpu_limit: null, unlimited: 'cpu,memory,pids' })
  t.ok(Number(accountOf('nested', 'cpu_usage')) > 2, 'the cgroup below it counts')
  t.ok(Number(accountOf('nested', 'memory_peak')) > 20 * MIB)
})
