import { describeApiError } from '../../src/cluster/api-error.ts'
import { createPause, type Pause } from '../../src/lib/pause.ts'
import type { WorkloadPods } from '../../src/runs/collect/workload-pods.ts'
import {
  buildFrame,
  type ColumnWidths,
  type FrameFacts,
  tableHeight,
} from '../../src/runs/top/frame.ts'
import { findNoProgress } from '../../src/runs/top/no-progress.ts'
import { orderLines } from '../../src/runs/top/order.ts'
import { buildLines } from '../../src/runs/top/ranks.ts'
import {
  firstView,
  type Key,
  keepInside,
  keepSort,
  pressKey,
  type View,
} from '../../src/runs/top/view.ts'
import type { LiveRun } from './live-run.ts'
import { followStream, type LogStream, type StreamOptions, settleStreams } from './log-streams.ts'
import { createLookPace } from './look-pace.ts'
import { listNotices } from './notices.ts'
import { createOpeningGate } from './opening-gate.ts'
import { openScreen, type Screen } from './screen.ts'
import type { TopOptions } from './top-options.ts'

/** Milliseconds between two frames. */
const FRAME_MS = 500

interface Session {
  readonly found: WorkloadPods
  readonly run: LiveRun
  readonly parallel: number
  readonly screen: Screen
  readonly widths: ColumnWidths
  readonly stop: AbortController
  /** The pause between two frames, which a key or a new size of the terminal ends. */
  readonly framePause: Pause
  view: View
  /** The number of lines that match the filter. */
  lines: number
  /** What the last frame says about processes that make no progress. */
  alarms: readonly string[]
  /** Why the pods could not be listed; undefined if the last list succeeded. */
  problem: string | undefined
}

/**
 * Shows the ranks in the terminal until the user quits.
 *
 * @throws an internal error or an error of the terminal, after the terminal was restored
 */
export async function runInteractive(
  found: WorkloadPods,
  run: LiveRun,
  options: Pick<TopOptions, 'by' | 'parallel' | 'sort'>,
): Promise<void> {
  const stop = new AbortController()
  const endings = listenForEndings(stop)
  const framePause = createPause(stop.signal)
  const screen = openScreen({
    onKey: (key) => press(session, key),
    onResize: () => {
      session.widths.clear()
      framePause.end()
    },
  })
  const session: Session = {
    found,
    run,
    parallel: options.parallel,
    screen,
    widths: new Map(),
    stop,
    framePause,
    view: firstView(run.columns(), options.by, options.sort),
    lines: 0,
    alarms: [],
    problem: undefined,
  }
  try {
    await Promise.race([drawFrames(session), followRun(session), endings.failure])
  } finally {
    stop.abort()
    screen.close()
    endings.close()
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

interface Endings {
  /** Is rejected by an error that is thrown while events are handled or logs are read. */
  readonly failure: Promise<never>
  readonly close: () => void
}

/** Listens for signals, and for errors, which Node would print before the terminal is restored. */
function listenForEndings(stop: AbortController): Endings {
  const quit = () => stop.abort()
  let fail = (_: unknown) => {}
  const failure = new Promise<never>((_, reject) => {
    fail = reject
  })
  for (const signal of SIGNALS) process.once(signal, quit)
  process.once('uncaughtException', fail)
  return {
    failure,
    close: () => {
      for (const signal of SIGNALS) process.off(signal, quit)
      process.off('uncaughtException', fail)
    },
  }
}

/** Draws a frame every half second, and at once after a key or a change of the size. */
async function drawFrames(session: Session): Promise<void> {
  while (!session.stop.signal.aborted) {
    settleStreams(session.run.streams())
    draw(session)
    await session.framePause.wait(FRAME_MS)
  }
}

function draw(session: Session): void {
  const { screen, widths } = session
  const size = screen.size()
  const facts = factsOf(session)
  session.lines = facts.lines.length
  session.alarms = facts.alarms
  session.view = keepInside(session.view, roomOf(session))
  screen.draw(buildFrame({ ...facts, view: session.view }, size, widths))
}

function roomOf({ run, lines, alarms, screen }: Session) {
  return { columns: run.columns(), lines, height: tableHeight(alarms, screen.size()) }
}

function factsOf({ run, found, view, problem }: Session): FrameFacts {
  const columns = run.columns()
  const now = Date.now()
  const all = buildLines(run.ranks(), columns, view.unit, now)
  return {
    heading: `${found.words} in ${found.namespace}`,
    columns,
    all,
    lines: orderLines(all, columns, view),
    view,
    alarms: findNoProgress(run.ranks(), now).map(({ sentence }) => sentence),
    notices: listNotices(run, found, problem),
  }
}

function press(session: Session, key: Key): void {
  const next = pressKey(session.view, key, roomOf(session))
  if (next === 'quit') {
    session.stop.abort()
    return
  }
  session.view = next
  session.framePause.end()
}

/** Follows the logs of all observers, and lists the pods again from time to time. */
async function followRun(session: Session): Promise<void> {
  const { found, run, stop, parallel } = session
  const { signal } = stop
  const options = { apiserver: found.apiserver, gate: createOpeningGate(), signal }
  const pace = createLookPace(signal)
  while (!signal.aborted) {
    followMore(run, parallel, options, pace.hurry)
    await pace.wait(run.ranks().length)
    if (!signal.aborted) await look(session)
  }
}

/** Starts to follow logs until there are as many as are allowed. */
function followMore(run: LiveRun, most: number, options: StreamOptions, onEnd: () => void): void {
  const streams = run.streams()
  let followed = streams.filter(({ isFollowed }) => isFollowed).length
  const waiting = streams.filter(canBeFollowed)
  // The values of the ranks are worth more than the progress of some of them.
  for (const stream of waiting.sort((a, b) => Number(b.isShown) - Number(a.isShown))) {
    if (followed >= most) return
    followed += 1
    followStream(stream, options, onEnd)
  }
}

function canBeFollowed({ isFollowed, isOver, hasStarted }: LogStream): boolean {
  return hasStarted && !isFollowed && !isOver
}

async function look(session: Session): Promise<void> {
  const { run, found } = session
  try {
    const pods = await found.find()
    const before = run.columns()
    run.take(pods)
    const { view } = session
    session.view = { ...view, sort: keepSort(view.sort, before, run.columns()) }
    session.problem = undefined
  } catch (error) {
    session.problem = describeApiError(error)
  }
}
