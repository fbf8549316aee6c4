// The trend: time, processors and memory of the shown runs, by their start.

import uPlot from 'uplot'
import { durationText } from '../../../lib/duration.ts'
import { coresText } from '../../card/card-numbers.ts'
import { classed, element, elementOf, inside, made } from '../../report/page/elements.ts'
import { mostOf } from '../../report/page/shown-units.ts'
import { axisStyle } from '../../report/page/theme/axis.ts'
import { colour } from '../../report/page/theme/colours.ts'
import { TIME_STEPS } from '../../report/page/time-ticks.ts'
import { bytesText } from '../../rules/sentence.ts'
import type { StoredRun } from '../listed-run.ts'
import { seriesOf } from './choice.ts'
import { startText } from './columns.ts'

const HEIGHT = 210
/** The width of the axis of values, in pixels. */
const AXIS_WIDTH = 70

interface Measure {
  readonly title: string
  readonly value: (run: StoredRun) => number | null
  readonly text: (value: number) => string
  /** The possible distances between two ticks of its axis, if they are not powers of ten. */
  readonly steps?: number[]
}

/** From a kibibyte to a tebibyte. */
const BYTE_STEPS = Array.from({ length: 31 }, (_, power) => 2 ** (10 + power))

const MEASURES: readonly Measure[] = [
  { title: 'Time', value: ({ seconds }) => seconds, text: durationText, steps: TIME_STEPS },
  { title: 'Cores used', value: ({ cores }) => cores.used, text: coresText },
  { title: 'Memory peak', value: ({ memory }) => memory.used, text: bytesText, steps: BYTE_STEPS },
]

/** A run with the time of its start, in seconds since 1970. */
type StartedRun = StoredRun & { readonly started: number }

let runs: readonly StartedRun[] = []
let charts: readonly uPlot[] = []

/** Draws the trend when its topic is opened. */
export function startTrend(): void {
  const legend = [
    keyOf('succeeded', 'line'),
    keyOf('failed, deleted, or not known how it ended', 'out'),
  ]
  inside('trend', '.legend').replaceChildren(...legend)
  for (const key of legend) key.className = 'key'
  element('trend').addEventListener('toggle', showTrend)
}

function keyOf(text: string, name: string): HTMLElement {
  const [key, swatch] = [made('span'), made('i')]
  swatch.className = name
  key.append(swatch, text)
  return key
}

/** Sets the runs of the trend, and draws it if its topic is open. */
export function setTrend(shown: readonly StoredRun[]): void {
  runs = shown
    .filter((run): run is StartedRun => run.started !== null)
    .sort((a, b) => a.started - b.started)
  showTrend()
}

/** Draws the trend anew, if its topic is open. */
export function showTrend(): void {
  for (const chart of charts) chart.destroy()
  charts = []
  if (!elementOf(HTMLDetailsElement, 'trend').open) return
  inside('trend', '.grid').replaceChildren()
  charts = MEASURES.flatMap((measure) => plotOf(measure) ?? [])
}

function plotOf(measure: Measure): uPlot | undefined {
  const [box, head, readout] = [classed('div', 'plot'), made('header'), made('output')]
  head.append(made('h3', measure.title), readout)
  box.append(head)
  inside('trend', '.grid').append(box)
  const known = runs.filter((run) => measure.value(run) !== null)
  if (known.length === 0) {
    box.append(classed('p', 'none', 'No run has this number.'))
    return undefined
  }
  const valuesIf = (isWanted: (run: StoredRun) => boolean) =>
    known.map((run) => (isWanted(run) ? measure.value(run) : null))
  const data: uPlot.AlignedData = [
    known.map(({ started }) => started),
    valuesIf(isGood),
    valuesIf((run) => !isGood(run)),
  ]
  const tell = ({ cursor }: uPlot) => {
    const run = known[cursor.idx ?? -1]
    readout.textContent = run === undefined ? '' : describeRun(run, measure)
  }
  const chart = new uPlot(optionsOf(measure, box.clientWidth, tell), data, box)
  chart.root.setAttribute('role', 'img')
  chart.root.ariaLabel = describePlot(measure, known)
  return chart
}

function isGood({ phase }: StoredRun): boolean {
  return phase === 'Succeeded'
}

function describeRun(run: StartedRun, { value, text }: Measure): string {
  return `${startText(run.started)} UTC  ${run.name}: ${text(value(run) ?? 0)}`
}

/** Returns a text for readers who do not see a plot. */
function describePlot({ title, value, text }: Measure, known: readonly StoredRun[]): string {
  const values = known.map((run) => value(run) ?? 0)
  const least = values.reduce((low, one) => Math.min(low, one))
  return `${title} of ${known.length} runs: from ${text(least)} to ${text(mostOf(values))}`
}

function optionsOf(
  { text, steps }: Measure,
  width: number,
  tell: (chart: uPlot) => void,
): uPlot.Options {
  const axis = axisStyle()
  // A line between the runs of different workloads would have no meaning.
  const isOneSeries = new Set(runs.map(seriesOf)).size === 1
  const series = (name: string, hasLine: boolean) => ({
    stroke: colour(name),
    width: 1,
    spanGaps: true,
    points: { show: true, size: 5, fill: colour(name) },
    ...(hasLine ? {} : { paths: () => null }),
  })
  return {
    width,
    height: HEIGHT,
    padding: [8, 24, 0, 0],
    legend: { show: false },
    cursor: { sync: { key: 'trend' }, points: { show: false }, drag: { x: true, y: false } },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    scales: { x: { time: true }, y: { range: (_chart, _least, most) => [0, most * 1.06 || 1] } },
    axes: [
      axis,
      {
        ...axis,
        size: AXIS_WIDTH,
        values: (_chart, splits) => splits.map(text),
        ...(steps === undefined ? {} : { incrs: steps }),
      },
    ],
    series: [{}, series('line', isOneSeries), series('out', false)],
    hooks: { setCursor: [tell] },
  }
}
