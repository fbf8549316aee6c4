import { createPause, type Pause } from '../../src/lib/pause.ts'
import type { TopColumn } from '../../src/runs/top/columns.ts'
import { type Assessor, alarmsIn, factorsIn } from '../../src/runs/top/findings/assessment.ts'
import {
  buildFrame,
  type ColumnWidths,
  type FrameFacts,
  type FrameHead,
  tableHeight,
} from '../../src/runs/top/frame.ts'
import { orderLines } from '../../src/runs/top/order.ts'
import { buildLines, type LivePod } from '../../src/runs/top/pods.ts'
import {
  firstView,
  type Key,
  keepInside,
  keepSort,
  pressKey,
  type View,
} from '../../src/runs/top/view.ts'
import type { Session } from '../shared/session.ts'
import { openScreen, type Screen } from './screen.ts'
import type { TopOptions } from './top-options.ts'

/** Milliseconds between two frames. */
export const FRAME_MS = 500

/** The pods that the terminal shows: those of a run that goes on, or of recorded logs. */
export interface Scene {
  readonly heading: () => string
  readonly pods: () => readonly LivePod[]
  readonly columns: () => readonly TopColumn[]
  /** Returns where the time of the run went; undefined if it is not known. */
  readonly time: () => string | undefined
  readonly notices: () => readonly string[]
  readonly assessor: Assessor
  /** Prepares for a frame, and returns its time in milliseconds since 1970. */
  readonly update: () => number
  /** Works in the background until the signal is aborted. */
  readonly follow: (signal: AbortSignal) => Promise<void>
}

interface Show {
  readonly scene: Scene
  readonly screen: Screen
  readonly widths: ColumnWidths
  readonly stop: AbortController
  /** The pause between two frames, which a key or a new size of the terminal ends. */
  readonly framePause: Pause
  /** The columns of the last frame. */
  columns: readonly TopColumn[]
  view: View
  /** The number of lines that match the filter. */
  lines: number
  /** What the last frame shows above the table. */
  head: FrameHead
}

/**
 * Shows the pods in the terminal until the user quits.
 *
 * @throws an internal error or an error of the terminal, after the terminal was restored
 */
export async function runInteractive(
  scene: Scene,
  { by, sort }: Pick<TopOptions, 'by' | 'sort'>,
  session: Session,
): Promise<void> {
  const stop = new AbortController()
  const endings = listenForEndings(stop, session)
  const framePause = createPause(stop.signal)
  const screen = openScreen(session, {
    onKey: (key) => press(show, key),
    onResize: () => {
      show.widths.clear()
      framePause.end()
    },
  })
  const show: Show = {
    scene,
    screen,
    widths: new Map(),
    stop,
    framePause,
    columns: scene.columns(),
    view: firstView(scene.columns(), by, sort),
    lines: 0,
    head: { verdict: undefined, time: undefined, factors: [], alarms: [] },
  }
  try {
    await Promise.race([drawFrames(show), scene.follow(stop.signal), endings.failure])
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
function listenForEndings(stop: AbortController, { onInterruption }: Session): Endings {
  let fail = (_: unknown) => {}
  const failure = new Promise<never>((_, reject) => {
    fail = reject
  })
  const stopListening = onInterruption(SIGNALS, () => stop.abort())
  process.once('uncaughtException', fail)
  return {
    failure,
    close: () => {
      stopListening()
      process.off('uncaughtException', fail)
    },
  }
}

/** Draws a frame every half second, and at once after a key or a change of the size. */
async function drawFrames(show: Show): Promise<void> {
  while (!show.stop.signal.aborted) {
    draw(show)
    await show.framePause.wait(FRAME_MS)
  }
}

function draw(show: Show): void {
  const { screen, widths, scene } = show
  const now = scene.update()
  const columns = scene.columns()
  const { view } = show
  show.view = { ...view, sort: keepSort(view.sort, show.columns, columns) }
  show.columns = columns
  const size = screen.size()
  const facts = factsOf(show, now)
  show.lines = facts.lines.length
  show.head = facts
  show.view = keepInside(show.view, roomOf(show))
  screen.draw(buildFrame({ ...facts, view: show.view }, size, widths))
}

function roomOf({ columns, lines, head, screen }: Show) {
  return { columns, lines, height: tableHeight(head, screen.size()) }
}

function factsOf({ scene, columns, view }: Show, now: number): FrameFacts {
  const pods = scene.pods()
  const assessment = scene.assessor.assess(pods, now)
  const { verdict, findings } = assessment
  const all = buildLines(pods, columns, view.unit, { now, findings })
  return {
    heading: scene.heading(),
    columns,
    all,
    lines: orderLines(all, columns, view),
    view,
    verdict,
    time: scene.time(),
    factors: factorsIn(assessment),
    alarms: alarmsIn(assessment),
    notices: scene.notices(),
  }
}

function press(show: Show, key: Key): void {
  const next = pressKey(show.view, key, roomOf(show))
  if (next === 'quit') {
    show.stop.abort()
    return
  }
  show.view = next
  show.framePause.end()
}
