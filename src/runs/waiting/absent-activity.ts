/** What a process does for which others wait. */
export type AbsentActivity =
  | { readonly is: 'ended'; readonly state: string }
  | { readonly is: 'stopped' | 'sleeping' | 'storage' | 'computing' | 'waiting' }

/** The fewest timepoints at which a process must be in the same call or state. */
export const MIN_SAMPLES = 2

/**
 * The fewest processors that a process uses if it computes. A process whose threads poll for events
 * uses less; one in a container with a low limit may not use more.
 */
const MIN_COMPUTING = 0.1

/** The state of a process at its last timepoint. */
interface ProcessState {
  /** The state: running, sleeping, disk or stopped; null if it is not known. */
  readonly state: string | null
  /** The number of consecutive timepoints with this state. */
  readonly stateSamples: number
  /** The processors that it used since the timepoint before; null if that is not known. */
  readonly cpu: number | null
}

/** Returns what a process does that has not ended, by its state and its use of processors. */
export function activityOf(process: ProcessState | null): AbsentActivity {
  const { state, stateSamples = 0, cpu } = process ?? {}
  if (state === 'stopped' && stateSamples >= MIN_SAMPLES) return { is: 'stopped' }
  if (state === 'disk') return { is: 'storage' }
  return { is: (cpu ?? 0) >= MIN_COMPUTING || state === 'running' ? 'computing' : 'sleeping' }
}

/** Describes the activity of a process for which others wait: `is stopped`. */
export function activityText({ is }: AbsentActivity): string {
  switch (is) {
    case 'ended':
      return 'has ended'
    case 'stopped':
      return 'is stopped'
    case 'storage':
      return 'waits for storage'
    case 'sleeping':
    case 'waiting':
      return 'sleeps in a system call'
    case 'computing':
      return 'computes'
  }
}
