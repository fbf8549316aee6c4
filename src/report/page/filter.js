// What is shown: ranks, programs, and whether only what stands out.

/** @type {{ programs: Set<string>, ranks: (rank: string) => boolean, isOutliers: boolean }} */
const shown = { programs: new Set(DATA.programs), ranks: () => true, isOutliers: false }

/** Reads "0-15, 32, worker-*": numbers from and to, names, and beginnings of names. @param {string} written */
function readRanks(written) {
  const tests = written
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map(rankTest)
  return (/** @type {string} */ rank) => tests.length === 0 || tests.some((test) => test(rank))
}

/** @param {string} part @returns {(rank: string) => boolean} */
function rankTest(part) {
  const range = /^(\d+)\s*-\s*(\d+)$/.exec(part)
  if (range !== null) {
    const [low, high] = [Number(range[1]), Number(range[2])]
    return (rank) => /^\d+$/.test(rank) && Number(rank) >= low && Number(rank) <= high
  }
  if (part.endsWith('*')) return (rank) => rank.startsWith(part.slice(0, -1))
  return (rank) => rank === part
}

/** Whether something of a rank and a program is shown. @param {{ rank: string, program: string, marks: readonly boolean[] }} thing */
function isShown({ rank, program, marks }) {
  if (!shown.ranks(rank) || !shown.programs.has(program)) return false
  return !shown.isOutliers || marks.some(Boolean)
}

/** A device belongs to no program. @param {Line} line */
function isDeviceShown({ rank, marks }) {
  return shown.ranks(rank) && (!shown.isOutliers || marks.some(Boolean))
}

/** Fills the form, and calls whenever what is shown changes. @param {() => void} onChange */
function startFilter(onChange) {
  const programs = element('programs')
  for (const program of DATA.programs) programs.append(programBox(program))
  programs.hidden = DATA.programs.length < 2
  const form = element('filter')
  const read = () => {
    const ranks = /** @type {HTMLInputElement} */ (element('ranks'))
    const boxes = /** @type {NodeListOf<HTMLInputElement>} */ (programs.querySelectorAll('input'))
    shown.ranks = readRanks(ranks.value)
    shown.programs = new Set([...boxes].flatMap((box) => (box.checked ? [box.value] : [])))
    shown.isOutliers = /** @type {HTMLInputElement} */ (element('outliers')).checked
    onChange()
  }
  form.addEventListener('input', read)
  form.addEventListener('submit', (event) => event.preventDefault())
  // A form is empty only after its event.
  form.addEventListener('reset', () => setTimeout(read))
}

/** @param {string} program */
function programBox(program) {
  const label = made('label')
  const box = /** @type {HTMLInputElement} */ (made('input'))
  Object.assign(box, { type: 'checkbox', value: program, checked: true, defaultChecked: true })
  label.append(box, ` ${program}`)
  return label
}

/** Shows one rank alone. @param {string} rank */
function showRank(rank) {
  const input = /** @type {HTMLInputElement} */ (element('ranks'))
  input.value = input.value === rank ? '' : rank
  input.dispatchEvent(new Event('input', { bubbles: true }))
}
