// Starts the page: the first screen at once, and everything else when the browser has read the data
// of the page and has time.

import 'uplot/dist/uPlot.min.css'
import './page.css'
import type { OverviewData } from '../first-screen/overview.ts'
import { element } from './elements.ts'
import { showActivity } from './first-screen/activity.ts'
import { startFirstScreen } from './first-screen/first-screen.ts'
import { watchPage } from './theme/watch-page.ts'

/** The details of the page, which follow the first screen. */
export interface Details {
  /** Draws the open topics anew, if the theme or the width of the page changed. */
  readonly show: () => void
  /** Opens all topics to print them, or closes those again that were closed before. */
  readonly print: (isNow: boolean) => void
}

/**
 * @param readDetails adds the details to the page. It is called once the browser has read all data.
 */
export function startPage(readDetails: () => Promise<Details>) {
  const data: OverviewData = JSON.parse(element('overview').textContent ?? '')
  startFirstScreen(data)
  performance.mark('first-screen')
  let details: Details | undefined
  const show = () => {
    showActivity()
    details?.show()
  }
  watchPage(show, (isNow) => {
    showActivity()
    details?.print(isNow)
  })
  const start = async () => {
    details = await readDetails()
    document.documentElement.dataset.state = 'complete'
    performance.mark('details')
  }
  // Two frames later, the first screen has been drawn.
  const soon = () => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(start)))
  if (document.readyState === 'loading') addEventListener('DOMContentLoaded', soon)
  else soon()
}
