import { readFileSync } from 'node:fs'

/** The use of processor and memory by a process. */
export interface Usage {
  /** Seconds of processor time since the process started. */
  readonly cpu: number
  /** Resident memory in MiB. */
  readonly rss: number
}

/** The usage of some processes at one time. */
export interface UsageSample {
  /** Seconds since the sampling began. */
  readonly at: number
  readonly usages: readonly Usage[]
}

/** The clock ticks per second in /proc/PID/stat (USER_HZ), which is 100 on all Linux machines. */
const TICKS = 100

const INTERVAL_MS = 1000

/** Returns the usage of a process; zeros if it has ended. */
export function usageOf(pid: number): Usage {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return {
      cpu: (Number(fields[11]) + Number(fields[12])) / TICKS,
      rss: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024,
    }
  } catch {
    return { cpu: 0, rss: 0 }
  }
}

export interface Sampling {
  readonly samples: readonly UsageSample[]
  /** Takes the last sample. Later calls do nothing, because the processes may have ended. */
  stop(): void
}

/** Samples processes every second. */
export function sampleUsage(pids: readonly number[]): Sampling {
  const start = performance.now()
  const samples: UsageSample[] = []
  const take = () => {
    samples.push({ at: (performance.now() - start) / 1000, usages: pids.map(usageOf) })
  }
  take()
  const timer = setInterval(take, INTERVAL_MS)
  let isStopped = false
  return {
    samples,
    stop() {
      if (isStopped) return
      isStopped = true
      clearInterval(timer)
      take()
    },
  }
}

/** The number of lines of a table over time. */
const LINES = 12

/**
 * Renders samples as a table: for each process, the memory at that time and the processor time
 * since the previous line.
 */
export function renderUsage(samples: readonly UsageSample[], names: readonly string[]): string {
  const step = Math.max(1, Math.ceil((samples.length - 1) / LINES))
  const shown = samples.filter((_, place) => place % step === 0)
  const heads = names.flatMap((name) => [`${name} MiB`, `${name} CPU %`])
  const lines = shown.slice(1).map((sample, place) => {
    const before = shown[place] ?? sample
    const cells = sample.usages.flatMap(({ cpu, rss }, process) => {
      const used = cpu - (before.usages[process]?.cpu ?? 0)
      return [rss.toFixed(0), ((used / (sample.at - before.at)) * 100).toFixed(1)]
    })
    return [sample.at.toFixed(0), ...cells]
  })
  const pad = (cells: readonly string[]) => cells.map((cell) => cell.padStart(18)).join('')
  return [['seconds', ...heads], ...lines].map(pad).join('\n')
}
