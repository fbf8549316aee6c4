import { pause } from '../../src/lib/pause.ts'
import type { Replay } from '../../src/runs/top/replay.ts'
import { FRAME_MS, type Scene } from './interactive.ts'

/** The longest replay at the speed that is chosen without `--speed`, in milliseconds. */
const MAX_MS = 120_000

/**
 * Returns the ranks of recorded logs, whose rows are shown one after another.
 *
 * @param words the names of the files
 * @param speed how many times as fast as the run; by default, two timepoints are shown in a second,
 * and a replay takes two minutes at most
 */
export function replayScene(replay: Replay, words: string, speed = usualSpeed(replay)): Scene {
  const began = performance.now()
  const length = secondsText(replay.to - replay.from)
  let now = replay.from
  return {
    heading: () => {
      const passed = secondsText(now - replay.from)
      return `${words}, ${passed} of ${length} (${speedText(speed)} times as fast)`
    },
    ranks: () => replay.ranks,
    columns: () => replay.columns,
    notices: () => replayNotices(replay),
    update: () => {
      now = Math.min(replay.from + (performance.now() - began) * speed, replay.to)
      replay.advance(now)
      return now
    },
    follow: async (signal) => {
      while (!signal.aborted) await pause(MAX_MS, signal)
    },
  }
}

export function replayNotices({ undescribed }: Replay): readonly string[] {
  return undescribed.map((metric) => `the rows of ${metric} are not described`)
}

function usualSpeed({ from, to, interval = FRAME_MS }: Replay): number {
  return Math.max(interval / FRAME_MS, (to - from) / MAX_MS, 1)
}

function secondsText(ms: number): string {
  return `${Math.round(ms / 1000)} s`
}

function speedText(speed: number): string {
  return String(Number(speed.toPrecision(2)))
}
