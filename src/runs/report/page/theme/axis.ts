// The axis of a plot.

import { colour } from './colours.ts'

/** Returns the options of uPlot for an axis in the colours of the theme. */
export function axisStyle() {
  return {
    stroke: colour('soft'),
    grid: { stroke: colour('rule'), width: 1 },
    ticks: { stroke: colour('rule'), width: 1 },
    font: '11px system-ui, sans-serif',
  }
}
