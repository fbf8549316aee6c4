// The time in calls of MPI: a table of the functions, and a table of the processes of an MPI job.
// Only a page of a run with recorded calls has this script, which follows those of every page.

/** @typedef {NonNullable<PageData['mpi']>} Mpi */

/** @type {Mpi} */
const MPI = DATA.mpi ?? { jobs: [], omitted: 0 }

/** @type {{ job: number, table: Table | undefined }} */
const mpiShown = { job: 0, table: undefined }

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
  for (const [title = '', unit = ''] of MPI_CALL_TITLES) {
    const cell = made('th', title)
    cell.append(made('small', unit))
    titles.append(cell)
  }
  head.append(titles)
  for (const { call, calls: count, seconds, percent, spread, longestMs, bytes } of calls) {
    const row = made('tr')
    const numbers = [count, seconds, percent, ...spread, longestMs, bytes]
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
  const table = startTable(
    { columns, rows, isShown: isRankShown },
    'mpi-ranks',
    'Process',
    '.marks',
  )
  if (mpiShown.table === undefined) tables.push(table)
  else tables.splice(tables.indexOf(mpiShown.table), 1, table)
  mpiShown.table = table
  showTable(table)
  const told = [
    omitted === 0
      ? ''
      : `${omitted.toLocaleString('en')} processes did not fit into the page; those with the ` +
        'most and with the least time in MPI are shown.',
    rows.length + omitted < size ? `The job has ${counted(size, 'rank')}.` : '',
    problem === null ? '' : `The ranks cannot be compared: ${problem}.`,
  ]
  inside('mpi', '.told').textContent = told.filter((text) => text !== '').join(' ')
}

function showMpi() {
  showMpiCalls()
  showMpiRanks()
}

/** Adds the choice of a job. @param {HTMLElement} place */
function addMpiChoice(place) {
  const select = /** @type {HTMLSelectElement} */ (made('select'))
  select.id = 'mpi-job'
  for (const [index, { job, size }] of MPI.jobs.entries()) {
    const words = `${job ?? 'without an identifier'}, ${counted(size, 'rank')}`
    const option = /** @type {HTMLOptionElement} */ (made('option', words))
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

/** @param {string} name @param {string} className @param {string} [text] */
function mpiPart(name, className, text) {
  const node = made(name, text)
  node.className = className
  return node
}

function addMpi() {
  const [section, ranks, table] = [made('section'), made('div'), made('table')]
  section.id = 'mpi'
  ranks.id = 'mpi-ranks'
  const [calls, own] = [mpiPart('div', 'scroll'), mpiPart('div', 'scroll')]
  calls.append(mpiPart('table', 'by-call'))
  table.append(made('thead'), made('tbody'))
  own.append(table)
  ranks.append(own, mpiPart('p', 'note marks'), mpiPart('p', 'note told'))
  const choice = mpiPart('p', 'note')
  section.append(
    made('h2', 'Time in MPI'),
    mpiPart('p', 'note', MPI_ABOUT),
    choice,
    made('h3', 'By call'),
    calls,
    mpiPart('p', 'note left'),
    made('h3', 'By rank'),
    ranks,
  )
  element('strip').before(section)
  addMpiChoice(choice)
  showMpi()
}

addMpi()
