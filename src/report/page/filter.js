// The filter of the page: ranks, programs, and whether only outliers are shown.

/** @type {{ programs: Set<string>, ranks: (rank: string) => boolean, isOutliers: boolean }} */
const shown = { programs: new Set(DATA.programs), ranks: () => true, isOutliers: false }

/**
 * Parses a list such as "0-15, 32, worker-*": ranges of numbers, names, and prefixes of names.
 *
 * @param {string} written
 */
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

/**
 * Reports whether a line or a row is shown.
 *
 * @param {{ rank: string, program: string, marks: readonly boolean[] }} thing
 */
function isShown({ rank, program, marks }) {
  if (!shown.ranks(rank) || !shown.programs.has(program)) return false
  return !shown.isOutliers || marks.some(Boolean)
}

/**
 * Reports whether a thing that belongs to no program is shown, such as a device.
 *
 * @param {{ rank: string, marks: readonly boolean[] }} thing
 */
function isRankShown({ rank, marks }) {
  return shown.ranks(rank) && (!shown.isOutliers || marks.some(Boolean))
}

/** Fills the form, and calls onChange each time the filter changes. @param {() => void} onChange */
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
  // The browser resets the fields after the event has been handled.
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

/** Shows only one rank; shows all ranks if only this rank was shown. @param {string} rank */
function showRank(rank) {
  const input = /** @type {HTMLInputElement} */ (element('ranks'))
  input.value = input.value === rank ? '' : rank
  input.dispatchEvent(new Event('input', { bubbles: true }))
}
