import t from 'tap'
import { observer, podOf, until } from './pod.ts'
import { observerTests, parse, timepointsIn } from './prerequisites.ts'

// In this test, the log is soon full: the observer takes a timepoint of 64 processes every 0.1 s,
// and the limit of the log is 1 MiB. The defaults are 10 s and 8 MiB.

const MEBIBYTE = 1 << 20

t.test(
  'the observer lengthens its interval as the log grows, and completes the log within its limit',
  observerTests(),
  async (t) => {
    const { run } = await podOf(t)
    await run('app', [
      'sh',
      '-c',
      'i=0; while [ $i -lt 63 ]; do sleep 600 & i=$((i+1)); done; wait',
    ])
    const watching = await run('perf-sysstat', [observer('perf-sysstat')], {
      RIDEALONG_TARGET_CONTAINER: 'app',
      RIDEALONG_OPTION_RATE: '0.1',
      RIDEALONG_OPTION_MAX_LOG: '1',
    })
    await until(watching, /the log has no room for more timepoints/)
    watching.signal('SIGTERM')
    t.equal(await watching.ended, 0)
    const log = watching.log()
    // The format of containerd: a time stamp, the stream and a tag before each line, or before each
    // 16 KiB of a longer line.
    const written = log
      .split('\n')
      .reduce((sum, line) => sum + line.length + 48 * (1 + Math.floor(line.length / 16384)), 0)
    t.ok(written <= MEBIBYTE, `the log has ${written} bytes, at most 1 MiB`)
    t.ok(written >= MEBIBYTE / 2, 'the log has at least half of the permitted size')
    const { data } = parse('perf-sysstat', log)
    t.equal(data.length, timepointsIn(log))
    // The first timepoints may be taken before the shell has forked all processes.
    const first = data.findIndex(({ policy }) => policy?.length === 64)
    t.ok(first >= 0 && data.slice(first).every(({ policy }) => policy?.length === 64))
    const times = inOrder(data.map(({ policy }) => seconds(Number(policy?.[0]?.time))))
    // The times are whole seconds, and one of the first intervals can be long on a busy machine.
    const shortest = Math.min(...[1, 2, 3, 4, 5].map((at) => gap(times, at)))
    t.ok(gap(times, -1) > 3 * shortest, `the interval grew: ${times}`)
    t.match(log.trimEnd(), /SUMMARY END$/)
  },
)

function gap(times: readonly number[], at: number): number {
  const until = at < 0 ? times.length + at : at
  return Math.max(0.3, (times[until] ?? 0) - (times[until - 1] ?? 0))
}

/** Returns seconds of the day as seconds since the first day began: some are after midnight. */
function inOrder(times: readonly number[]): readonly number[] {
  let days = 0
  return times.map((time, at) => {
    if (time < Number(times[at - 1])) days += 1
    return days * 86_400 + time
  })
}

function seconds(time: number): number {
  return Math.floor(time / 10000) * 3600 + (Math.floor(time / 100) % 100) * 60 + (time % 100)
}
