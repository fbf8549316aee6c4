// The first screen of the page: the efficiency with its factors, the worst findings, and the pods
// over time. It needs only its own data, and is complete before the browser has read the rest.

import { durationText } from '../../../../lib/duration.ts'
import './first-screen.css'
import type { OverviewData, WorstFinding } from '../../first-screen/overview.ts'
import { classed, element, inside, made } from '../elements.ts'
import { counted, NOTHING_FOUND } from '../format.ts'
import { showActivity, startActivity } from './activity.ts'

/** From GOOD, an efficiency is good (POP Centre of Excellence); below LOW, its meter is red. */
const [GOOD, LOW] = [0.8, 0.4]

/** Fills the first screen. */
export function startFirstScreen(data: OverviewData) {
  element('about').textContent = aboutRun(data)
  startEfficiency(data)
  startWorst(data)
  startActivity(data.activity)
  showActivity()
}

function aboutRun({ pods, programs, duration: seconds, samples, logs }: OverviewData) {
  const parts = [
    counted(pods, 'pod'),
    ...(programs === 0 ? [] : [counted(programs, 'program')]),
    durationText(seconds),
  ]
  return `${parts.join(', ')}; ${counted(samples, 'sample')} in ${counted(logs, 'log')}`
}

function startEfficiency({ factors, unknown }: OverviewData) {
  inside('efficiency', 'tbody').append(...factors.map(factorRow))
  inside('efficiency', '.missing').textContent = unknown === '' ? '' : `${unknown}.`
  inside('efficiency', 'dl').append(
    ...factors.flatMap(({ title, meaning }) => [made('dt', title), made('dd', meaning)]),
  )
}

function factorRow({ title, depth, value, text, loss }: OverviewData['factors'][number]) {
  const row = classed('tr', `depth-${depth}`)
  const head = made('th', title)
  head.scope = 'row'
  const cell = classed('td', 'value', value === null ? 'not known' : text)
  if (value !== null) cell.prepend(meterOf(value))
  row.append(head, cell, classed('td', 'loss', loss ?? ''))
  return row
}

/** Returns a bar. The text beside it has the value, so screen readers skip the bar. */
function meterOf(value: number) {
  const meter = made('meter')
  Object.assign(meter, { min: 0, max: 1, low: LOW, high: GOOD, optimum: 1, value })
  meter.setAttribute('aria-hidden', 'true')
  return meter
}

function startWorst({ worst, others }: OverviewData) {
  inside('worst', '.lines').append(...worst.map(findingLine))
  const more = inside('worst', '.more')
  if (worst.length === 0) more.textContent = NOTHING_FOUND
  else if (others > 0) more.append(linkTo('findings', `${counted(others, 'more finding')}`))
}

function linkTo(id: string, text: string) {
  const link = made('a', text)
  link.href = `#${id}`
  return link
}

/** Returns a line about a finding, which opens to the whole sentence, advice, and a link to it. */
function findingLine(
  { title, sentence, advice, severity, pod, count, lost }: WorstFinding,
  index: number,
) {
  const name = /^\d/.test(pod) ? `pod ${pod}` : pod
  const where = count === 1 ? name : `${counted(count, 'pod')}, most on ${name}`
  const line = classed('details', severity)
  const summary = made('summary')
  summary.append(
    made('b', title),
    classed('span', 'lost', lost === '' ? '' : `${lost} lost`),
    classed('span', 'where', where),
    classed('span', 'said', sentence),
  )
  const [todo, further] = [made('p'), made('p')]
  todo.append(made('b', 'What to do: '), advice)
  further.append(linkTo(`finding-${index}`, 'Evidence and plot'))
  line.append(summary, todo, further)
  return line
}
