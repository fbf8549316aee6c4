// The traces of PyTorch's profiler: the file of each rank, and how to look at it.

import { DATA } from '../data.ts'
import { classed, inside, made, scrollOf } from '../elements.ts'
import { isRankShown } from '../filter.ts'
import { counted, plain } from '../format.ts'
import { shownUnit } from '../shown-units.ts'
import { addTopic, startTopic } from '../topics.ts'

const TITLES = ['Rank', 'PyTorch rank', 'Program', 'Process id', 'Trace', 'Size', 'File']

/** Adds the topic. */
export function addTraces() {
  const { traces, omitted } = DATA.traces ?? { traces: [], omitted: 0 }
  const whole = traces.filter(({ trace }) => trace === 'complete').length
  const place = addTopic('traces', 'Traces of PyTorch', counted(whole, 'trace'))
  startTopic(place, () => {
    const left = omitted === 0 ? '' : `${counted(omitted, 'trace')} did not fit into the page.`
    const scroll = scrollOf('Traces of PyTorch by rank')
    scroll.append(made('table'))
    place.append(instructions(), scroll, classed('p', 'note', left))
    return showTraces
  })
}

/** Says how to look at a trace. The page itself sends nothing. */
function instructions(): HTMLElement {
  const note = classed('p', 'note', 'The files are in the logs: ')
  const link = made('a', 'ui.perfetto.dev')
  link.href = 'https://ui.perfetto.dev'
  link.rel = 'noreferrer'
  note.append(
    made('code', 'ridealong collect WORKLOAD --output artifacts --to FOLDER'),
    ' writes them. Open ',
    link,
    ', and choose a file with “Open trace file”. It is shown in the browser, and not uploaded.',
  )
  return note
}

function showTraces() {
  const [head, titles, body] = [made('thead'), made('tr'), made('tbody')]
  titles.append(...TITLES.map((title) => made('th', title)))
  head.append(titles)
  const shown = (DATA.traces?.traces ?? []).filter(({ rank }) => isRankShown({ rank, marks: [] }))
  for (const { rank, worldRank, program, pid, trace, bytes, path } of shown) {
    const unit = shownUnit('bytes', bytes ?? 0)
    const size = bytes === null ? '' : `${plain(bytes * unit.factor)} ${unit.unit}`
    const cells = [rank, worldRank ?? '', program, pid ?? '', trace, size, path ?? '']
    const row = made('tr')
    row.append(...cells.map((cell) => made('td', String(cell))))
    body.append(row)
  }
  inside('traces', 'table').replaceChildren(head, body)
}
