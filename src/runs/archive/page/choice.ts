// The filter of the page: a search, and a workload.

import { element, elementOf, made } from '../../report/page/elements.ts'
import type { StoredRun } from '../listed-run.ts'
import { countRuns } from './columns.ts'
import { DATA } from './data.ts'

/** The most workloads of the list. The search finds the runs of the others. */
const MAX_WORKLOADS = 500

/**
 * Returns the workload whose runs are compared over time. A Job of a CronJob has the name of the
 * CronJob and eight digits, the minutes since 1970 (kubernetes pkg/controller/cronjob/utils.go).
 */
export function seriesOf({ workload }: Pick<StoredRun, 'workload'>): string {
  return workload.replace(/^(job\/.+-)\d{8}$/, '$1*')
}

/** Returns the texts that a search looks at, in lower case. They are built when they are needed. */
const textOf = remember(({ name, workload, phase, images, finding }: StoredRun) =>
  [name, workload, phase ?? '', ...images, finding ?? ''].join('\n').toLowerCase(),
)

function remember<Key extends object, Value>(build: (key: Key) => Value): (key: Key) => Value {
  const known = new WeakMap<Key, Value>()
  return (key) => {
    const value = known.get(key) ?? build(key)
    known.set(key, value)
    return value
  }
}

/** Fills the form. Calls `onChange` with the runs that it chooses, each time it changes. */
export function startChoice(onChange: (runs: readonly StoredRun[]) => void): void {
  const [search, workload, form] = [searchInput(), workloadList(), element('choice')]
  fillWorkloads(workload)
  let pending = 0
  const read = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean)
    const isFound = (run: StoredRun) => words.every((word) => textOf(run).includes(word))
    const isOfSeries = (run: StoredRun) => workload.value === '' || seriesOf(run) === workload.value
    const runs = DATA.runs.filter((run) => isOfSeries(run) && isFound(run))
    element('shown').textContent =
      `${runs.length.toLocaleString('en')} of ${countRuns(DATA.runs.length)}`
    onChange(runs)
  }
  const readSoon = () => {
    cancelAnimationFrame(pending)
    pending = requestAnimationFrame(read)
  }
  form.addEventListener('input', readSoon)
  form.addEventListener('submit', (event) => event.preventDefault())
  // The browser resets the fields after the event has been handled.
  form.addEventListener('reset', () => setTimeout(read))
  read()
}

function searchInput(): HTMLInputElement {
  return elementOf(HTMLInputElement, 'search')
}

function workloadList(): HTMLSelectElement {
  return elementOf(HTMLSelectElement, 'workload')
}

/** Fills the list of workloads, in the order of their names. */
function fillWorkloads(list: HTMLSelectElement): void {
  const counts = new Map<string, number>()
  for (const run of DATA.runs) counts.set(seriesOf(run), (counts.get(seriesOf(run)) ?? 0) + 1)
  const most = [...counts].sort(([, a], [, b]) => b - a).slice(0, MAX_WORKLOADS)
  const names = most.sort(([a], [b]) => (a < b ? -1 : 1))
  list.replaceChildren(
    optionOf('all', ''),
    ...names.map(([name, count]) => optionOf(`${name} (${count.toLocaleString('en')})`, name)),
  )
}

function optionOf(text: string, value: string): HTMLOptionElement {
  const option = made('option', text)
  option.value = value
  return option
}

/** Shows only the runs of the workload of a run. */
export function chooseWorkload(run: StoredRun): void {
  const [list, series] = [workloadList(), seriesOf(run)]
  list.value = series
  // One that is not in the list is searched for.
  const isListed = list.value === series
  if (!isListed) list.value = ''
  searchInput().value = isListed ? '' : series.replace(/\*$/, '')
  list.dispatchEvent(new Event('input', { bubbles: true }))
}
