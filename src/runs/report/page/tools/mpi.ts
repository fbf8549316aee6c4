// The time in calls of MPI: a table of the functions, and a table of the processes of an MPI job.

import type { PageData } from '../../data.ts'
import { DATA } from '../data.ts'
import { classed, inside, made, scrollOf } from '../elements.ts'
import { isPodShown } from '../filter.ts'
import { counted, plain } from '../format.ts'
import { buildMpiPlots } from '../sections.ts'
import { mostOf, shownUnit } from '../shown-units.ts'
import { showTable, startTable, type Table } from '../table.ts'
import { addTopic, startTopic } from '../topics.ts'

type Mpi = NonNullable<PageData['mpi']>

const MPI: Mpi = DATA.mpi ?? { jobs: [], omitted: 0 }

const mpiShown: { job: number; table: Table | undefined } = { job: 0, table: undefined }

function mpiJob() {
  const own = MPI.jobs[mpiShown.job]
  if (own === undefined) throw new Error(`there is no MPI job ${mpiShown.job}`)
  return own
}

const MPI_ABOUT =
  'The time of a call includes the transfer and the wait for other processes. Bytes count for ' +
  'the process that sends them.'

const MPI_CALL_TITLES = [
  ['Call', ''],
  ['Calls', ''],
  ['All ranks', 's'],
  ['Share', '%'],
  ['Least of a rank', 's'],
  ['Median', 's'],
  ['Greatest', 's'],
  ['Longest call', 'ms'],
  ['Sent', 'bytes'],
]

function showMpiCalls() {
  const { calls, omittedCalls } = mpiJob()
  const [head, titles, body] = [made('thead'), made('tr'), made('tbody')]
  const sent = shownUnit('bytes', mostOf(calls.map(({ bytes }) => bytes)))
  for (const [title = '', unit = ''] of MPI_CALL_TITLES) {
    const cell = made('th', title)
    cell.append(made('small', unit === 'bytes' ? sent.unit : unit))
    titles.append(cell)
  }
  head.append(titles)
  for (const { call, calls: count, seconds, percent, spread, longestMs, bytes } of calls) {
    const row = made('tr')
    const numbers = [count, seconds, percent, ...spread, longestMs, bytes * sent.factor]
    row.append(made('td', call), ...numbers.map((value) => made('td', plain(value))))
    body.append(row)
  }
  inside('mpi', '.by-call').replaceChildren(head, body)
  inside('mpi', '.left').textContent =
    omittedCalls === 0
      ? ''
      : `${counted(omittedCalls, 'function')} with less time did not fit into the page.`
}

function showMpiRanks() {
  const { columns, rows, omitted, size, problem } = mpiJob()
  const table = startTable({ columns, rows, isShown: isPodShown }, 'mpi-ranks', 'Process', '.marks')
  mpiShown.table = table
  showTable(table)
  const notes = [
    omitted === 0
      ? ''
      : `${omitted.toLocaleString('en')} processes did not fit into the page; those with the ` +
        'most and with the least time in MPI are shown.',
    rows.length + omitted < size ? `The job has ${counted(size, 'rank')}.` : '',
    problem === null ? '' : `The ranks cannot be compared: ${problem}.`,
  ]
  inside('mpi', '.told').textContent = notes.filter((text) => text !== '').join(' ')
}

function showMpi() {
  showMpiCalls()
  showMpiRanks()
}

/** Adds the choice of a job. */
function addMpiChoice(place: HTMLElement) {
  const select = made('select')
  select.id = 'mpi-job'
  for (const [index, { job, size }] of MPI.jobs.entries()) {
    const words = `${job ?? 'without an identifier'}, ${counted(size, 'rank')}`
    const option = made('option', words)
    option.value = String(index)
    select.append(option)
  }
  const label = made('label', 'MPI job ')
  label.append(select)
  place.append(label)
  if (MPI.omitted > 0)
    place.append(` ${counted(MPI.omitted, 'job')} with less time did not fit into the page.`)
  select.addEventListener('change', () => {
    mpiShown.job = Number(select.value)
    showMpi()
  })
}

/** Adds the topic. */
export function addMpi() {
  const place = addTopic('mpi', 'Time in MPI', counted(MPI.jobs.length, 'job'))
  startTopic(place, () => {
    buildMpi(place)
    showMpi()
    const showPlots = buildMpiPlots(place)
    return () => {
      if (mpiShown.table !== undefined) showTable(mpiShown.table)
      showPlots()
    }
  })
}

function buildMpi(place: HTMLElement) {
  const [ranks, table] = [made('div'), made('table')]
  ranks.id = 'mpi-ranks'
  const [calls, rankTable] = [scrollOf('Time in MPI by call'), scrollOf('Time in MPI by rank')]
  calls.append(classed('table', 'by-call'))
  table.append(made('thead'), made('tbody'))
  rankTable.append(table)
  ranks.append(rankTable, classed('p', 'note marks'), classed('p', 'note told'))
  const choice = classed('p', 'note')
  place.append(
    classed('p', 'note', MPI_ABOUT),
    choice,
    made('h3', 'By call'),
    calls,
    classed('p', 'note left'),
    made('h3', 'By rank'),
    ranks,
  )
  addMpiChoice(choice)
}
