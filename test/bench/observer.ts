import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { observer, startPod, until } from '../observers/pod.ts'
import { timepointsIn } from '../observers/prerequisites.ts'
import { benchLammps } from './lammps.ts'

const PROCESSES = 64
const MEBIBYTES = Number(process.env.MEBIBYTES ?? 256)
const SECONDS = 60

/** Processes that have touched so much memory each, and wake fifty times a second. */
const LOAD = `
import os, time
for i in range(${PROCESSES}):
    if i == 0 or os.fork() == 0:
        memory = bytearray(${MEBIBYTES} << 20) if i else b''
        for at in range(0, len(memory), 4096): memory[at] = 1
        if i == 0: continue
        while True: time.sleep(0.02)
time.sleep(100000)`

/**
 * Prints what an observer costs that takes a timepoint of 64 processes each second: the share of one core, and the
 * resident memory of all its processes. Needs Linux, root and 16 GiB; MEBIBYTES says of how many each process has.
 */
async function benchCost(): Promise<void> {
  const pod = await startPod()
  try {
    await pod.run('app', ['python3', '-c', LOAD])
    await sleep(10_000)
    const watching = await pod.run('perf-sysstat', [observer('perf-sysstat')], {
      RIDEALONG_TARGET_CONTAINER: 'app',
      RIDEALONG_OPTION_RATE: '1',
      RIDEALONG_OPTION_MAX_LOG: '1024',
    })
    await until(watching, () => timepointsIn(watching.log()) >= 3)
    const before = costOf(watching.pid)
    const samples = timepointsIn(watching.log())
    await sleep(SECONDS * 1000)
    const after = costOf(watching.pid)
    const share = ((after.ticks - before.ticks) / SECONDS).toFixed(2)
    print(
      `${PROCESSES} processes of ${MEBIBYTES} MiB, ${timepointsIn(watching.log()) - samples} samples in ${SECONDS} s`,
    )
    print(`${share} % of a core, ${(after.kibibytes / 1024).toFixed(1)} MiB resident (RSS)`)
    watching.signal('SIGTERM')
    await watching.ended
  } finally {
    pod.end()
  }
}

/** The clock ticks, hundredths of a second, and the memory of a process and those that it started. */
function costOf(pid: number): { readonly ticks: number; readonly kibibytes: number } {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  const [, kibibytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
  return children
    .filter((child) => child !== '')
    .map((child) => costOf(Number(child)))
    .reduce(
      (sum, cost) => ({ ticks: sum.ticks + cost.ticks, kibibytes: sum.kibibytes + cost.kibibytes }),
      {
        ticks: Number(fields[11]) + Number(fields[12]),
        kibibytes: Number(kibibytes),
      },
    )
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

// Before the processes of the other, which are a load themselves.
await benchLammps(print)
await benchCost()
