// The first screen of the page: the efficiency with its factors, and the worst findings.

import './overview.css'
import type { PageData } from '../data.ts'
import { DATA } from './data.ts'
import { classed, element, inside, made } from './elements.ts'

/** From GOOD, an efficiency is good (POP Centre of Excellence); below LOW, its meter is red. */
const [GOOD, LOW] = [0.8, 0.4]
/** The most findings that the first screen names. */
const MOST_FINDINGS = 3

/** Adds the first screen to the page. */
export function addOverview() {
  inside('efficiency', 'tbody').append(...DATA.factors.map(factorRow))
  const worst = DATA.findings.findings.slice(0, MOST_FINDINGS)
  element('worst').append(...worst.map(findingLine))
  element('worst').hidden = worst.length === 0
}

function factorRow({ title, meaning, depth, value, text }: PageData['factors'][number]) {
  const row = classed('tr', `depth-${depth}`)
  const head = made('th', title)
  head.scope = 'row'
  const cells = [classed('td', value === null ? 'missing' : 'value', text), made('td', meaning)]
  if (value !== null) cells[0]?.append(meterOf(value))
  row.append(head, ...cells)
  return row
}

/** Returns a bar. The text beside it has the value, so readers of the screen skip the bar. */
function meterOf(value: number) {
  const meter = made('meter')
  Object.assign(meter, { min: 0, max: 1, low: LOW, high: GOOD, optimum: 1, value })
  meter.setAttribute('aria-hidden', 'true')
  return meter
}

/** Returns a line about a finding, which opens to its sentence, its advice and a link to it. */
function findingLine(
  { title, sentence, advice, severity, rows, more }: PageData['findings']['findings'][number],
  index: number,
) {
  const [worst] = rows
  const count = rows.length + more
  const where = count === 1 ? `rank ${worst?.rank}` : `${count} ranks, most on rank ${worst?.rank}`
  const line = classed('details', severity)
  const summary = made('summary')
  summary.append(
    made('b', title),
    classed('span', 'where', where),
    classed('span', 'lost', worst?.lost ? `${worst.lost} lost` : ''),
  )
  const link = made('a', 'Evidence and plot')
  link.href = `#finding-${index}`
  const [said, todo, further] = [made('p', sentence), made('p'), made('p')]
  todo.append(made('b', 'What to do: '), advice)
  further.append(link)
  line.append(summary, said, todo, further)
  return line
}
