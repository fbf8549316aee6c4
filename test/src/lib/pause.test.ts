import { getActiveResourcesInfo } from 'node:process'
import t from 'tap'
import {
  backoffMs,
  createPause,
  jittered,
  pause,
  pauseInBackground,
} from '../../../src/lib/pause.ts'

const LONG_MS = 600_000

/** Returns the number of timers that keep this process running. */
const countTimers = () => getActiveResourcesInfo().filter((name) => name === 'Timeout').length

t.test('a pause ends after its time, or when the signal is aborted', async (t) => {
  const start = performance.now()
  await pause(20)
  t.ok(performance.now() - start >= 10)
  const stop = new AbortController()
  const before = countTimers()
  const paused = pause(LONG_MS, stop.signal)
  t.equal(countTimers(), before + 1, 'the pause keeps the process running')
  stop.abort()
  await paused
  await pause(LONG_MS, stop.signal)
})

t.test('a pause in the background rejects when the signal is aborted', async (t) => {
  await Promise.all([pauseInBackground(1), pause(20)])
  const stop = new AbortController()
  const before = countTimers()
  const paused = pauseInBackground(LONG_MS, stop.signal)
  t.equal(countTimers(), before, 'the pause does not keep the process running')
  stop.abort()
  await t.rejects(paused, { name: 'AbortError' })
  await t.rejects(pauseInBackground(LONG_MS, stop.signal), { name: 'AbortError' })
})

t.test('a pause can be ended early, also before it begins', async (t) => {
  const { wait, end } = createPause(new AbortController().signal)
  t.equal(await wait(1), false, 'its time has passed')
  const waiting = wait(LONG_MS)
  end()
  t.equal(await waiting, true)
  end()
  t.equal(await wait(LONG_MS), true, 'it was ended before')
  t.equal(await wait(0), false)
})

t.test('each pause is twice as long as the previous one, up to a limit', async (t) => {
  const backoff = { pauseMs: 500, longestPauseMs: 3000 }
  t.strictSame(
    [0, 1, 2, 3, 4, 5000].map((pauses) => backoffMs(backoff, pauses)),
    [500, 1000, 2000, 3000, 3000, 3000],
  )
})

t.test('a random time is between half of the time and the whole time', async (t) => {
  t.strictSame(
    [0, 0.5].map((random) => jittered(100, undefined, random)),
    [50, 75],
  )
  t.strictSame(
    [0, 0.5].map((random) => jittered(100, { least: 0.75, most: 1.25 }, random)),
    [75, 100],
  )
  const times = Array.from({ length: 100 }, () => jittered(100))
  t.ok(times.every((ms) => ms >= 50 && ms < 100))
  t.ok(new Set(times).size > 50, 'the times differ')
})
