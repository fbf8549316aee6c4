import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** The clock ticks per second in /proc/PID/stat (USER_HZ), which is 100 on all Linux machines. */
const TICKS = 100

/** Returns the processor time of a process, in seconds: utime and stime of proc_pid_stat(5). */
function processorTime(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS
}

/** Measures a process for some seconds, and returns its processor time as a share of one core. */
export async function processorShare(pid: number, seconds: number): Promise<number> {
  const [began, before] = [performance.now(), processorTime(pid)]
  await sleep(seconds * 1000)
  return ((processorTime(pid) - before) * 1000) / (performance.now() - began)
}

/** Returns the peak resident size of a process, in KiB. */
export function peakResident(pid: number): number {
  return sizeIn(pid, 'VmHWM')
}

/**
 * Returns the resident size of the data of a process, in KiB. The pages of its program, which all
 * observers of a node share and the kernel can drop, do not count.
 */
export function residentData(pid: number): number {
  return sizeIn(pid, 'RssAnon')
}

/** Returns a size of proc_pid_status(5), in KiB. */
function sizeIn(pid: number, key: 'VmHWM' | 'RssAnon'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`^${key}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1])
}
