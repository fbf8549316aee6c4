// The page with the runs of a namespace.

import 'uplot/dist/uPlot.min.css'
import './runs.css'
import { element } from '../../report/page/elements.ts'
import { watchPage } from '../../report/page/theme/watch-page.ts'
import { startChoice } from './choice.ts'
import { countRuns, startText } from './columns.ts'
import { DATA } from './data.ts'
import { showRuns, startTable } from './table.ts'
import { setTrend, showTrend, startTrend } from './trend.ts'

const { runs, omitted, written } = DATA
const older = omitted === 0 ? '' : ` The ${countRuns(omitted)} before them are not listed.`
element('about').textContent =
  `${countRuns(runs.length)}, written ${startText(written)} UTC.${older}`
startTable()
startTrend()
startChoice((chosen) => {
  showRuns(chosen)
  setTrend(chosen)
})
watchPage(showTrend, showTrend)
document.documentElement.dataset.state = 'complete'
performance.mark('complete')
