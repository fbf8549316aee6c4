// Builds the page, and redraws it if the filter, the theme or the width changes.

const boards = [
  startBoard(DATA.plots, 'plots', 'legend', isShown),
  startBoard(DATA.devices, 'devices', 'device-legend', isDeviceShown),
]

function about() {
  const { ranks, programs, duration: seconds, samples, logs } = DATA
  const parts = [
    counted(ranks.length, 'rank'),
    counted(programs.length, 'program'),
    duration(seconds),
  ]
  const unit =
    DATA.unit === 'process'
      ? 'each line shows a process'
      : 'each line shows a program with all its processes on a rank'
  return `${parts.join(', ')}; ${counted(samples, 'sample')} in ${counted(logs, 'log')}; ${unit}.`
}

function show() {
  const lines = DATA.plots.lines.filter(isShown).length
  element('shown').textContent =
    `${lines.toLocaleString('en')} of ${counted(DATA.plots.lines.length, 'line')}`
  showTable()
  showStrip()
  for (const board of boards) showBoard(board)
}

let pending = 0

/** Combines several changes into one redraw. */
function showSoon() {
  cancelAnimationFrame(pending)
  pending = requestAnimationFrame(show)
}

/** @param {boolean} isNow */
function print(isNow) {
  if (isPrinting === isNow) return
  isPrinting = isNow
  const { dataset } = document.documentElement
  if (isNow) {
    dataset.before = dataset.theme ?? ''
    dataset.theme = 'light'
  } else if (dataset.before) dataset.theme = dataset.before
  else delete dataset.theme
  show()
}

function start() {
  element('about').textContent = about()
  element('notices').replaceChildren(...DATA.notices.map((notice) => made('li', notice)))
  for (const id of ['summary', 'strip', 'plots']) element(id).hidden = DATA.rows.length === 0
  element('devices').hidden = DATA.devices.lines.length === 0
  if (DATA.idleDevices > 0)
    element('devices')
      .querySelector('.note')
      ?.append(` Not shown: ${counted(DATA.idleDevices, 'device')} without any activity.`)
  startTable()
  startStrip()
  startFilter(showSoon)
  element('theme').addEventListener('click', () => {
    document.documentElement.dataset.theme = isDark() ? 'light' : 'dark'
    showSoon()
  })
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', showSoon)
  addEventListener('beforeprint', () => print(true))
  addEventListener('afterprint', () => print(false))
  let width = document.body.clientWidth
  new ResizeObserver(() => {
    if (document.body.clientWidth === width) return
    width = document.body.clientWidth
    showSoon()
  }).observe(document.body)
  show()
}

start()
