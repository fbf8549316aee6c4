import type { Apiserver } from '../../src/cluster/apiserver.ts'
import { readServerVersion } from '../../src/core/kubernetes/server-version.ts'
import { backoffMs, jittered, pauseInBackground } from '../../src/lib/pause.ts'
import type { Intervals } from './intervals.ts'

export interface VersionOptions {
  readonly api: Apiserver
  readonly pace: Intervals
  /** Called when the version cannot be read; `isLasting` if the reading before failed too. */
  onTrouble(trouble: string, isLasting: boolean): void
}

/** The version of the apiserver, which is read again at intervals. */
export interface FollowedVersion {
  /** Returns N of the version 1.N, or undefined if the version is not known. */
  current(): number | undefined
  stop(): void
}

/**
 * Reads the version of the apiserver until `stop` is called. The current version is the older one
 * of the last two readings: while a control plane is upgraded, one of its apiservers can already
 * have the new version while another one still checks pods by the rules of the old version.
 */
export function followVersion({ api, pace, onTrouble }: VersionOptions): FollowedVersion {
  const stopped = new AbortController()
  let readings: readonly number[] = []
  let failures = 0
  const read = async (): Promise<number> => {
    try {
      const signal = AbortSignal.any([stopped.signal, AbortSignal.timeout(pace.answerMs)])
      const version = readServerVersion(await api.ask({ path: '/version', signal }))
      if (version === undefined) throw new Error('/version contains no version 1.N')
      readings = [...readings, version].slice(-2)
      failures = 0
      return pace.relistMs
    } catch (error) {
      failures += 1
      if (!stopped.signal.aborted) onTrouble(String(error), failures > 1)
      return backoffMs(pace, failures)
    }
  }
  const readAgain = async () => {
    while (true) {
      const pauseMs = await read()
      await pauseInBackground(jittered(pauseMs), stopped.signal)
    }
  }
  // The promise rejects only when the reading is stopped.
  readAgain().catch(() => {})
  return {
    current: () => (readings.length === 0 ? undefined : Math.min(...readings)),
    stop: () => stopped.abort(),
  }
}
