// The filter of the page: ranks, programs, and whether only outliers are shown.

import { DATA } from './data.ts'
import { element, elementOf, made } from './elements.ts'

const shown: { programs: Set<string>; ranks: (rank: string) => boolean; isOutliers: boolean } = {
  programs: new Set(DATA.programs),
  ranks: () => true,
  isOutliers: false,
}

/**
 * Parses a list such as "0-15, 32, worker-*": ranges of numbers, names, and prefixes of names.
 */
function readPods(written: string) {
  const tests = written
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map(rankTest)
  return (rank: string) => tests.length === 0 || tests.some((test) => test(rank))
}

function rankTest(part: string): (rank: string) => boolean {
  const range = /^(\d+)\s*-\s*(\d+)$/.exec(part)
  if (range !== null) {
    const [low, high] = [Number(range[1]), Number(range[2])]
    return (rank) => /^\d+$/.test(rank) && Number(rank) >= low && Number(rank) <= high
  }
  if (part.endsWith('*')) return (rank) => rank.startsWith(part.slice(0, -1))
  return (rank) => rank === part
}

/** Reports whether a line or a row is shown. */
export function isShown({
  rank,
  program,
  marks,
}: {
  rank: string
  program: string
  marks: readonly boolean[]
}) {
  if (!shown.ranks(rank) || !shown.programs.has(program)) return false
  return !shown.isOutliers || marks.some(Boolean)
}

/** Reports whether a thing that belongs to no program is shown, such as a device. */
export function isRankShown({ rank, marks }: { rank: string; marks: readonly boolean[] }) {
  return shown.ranks(rank) && (!shown.isOutliers || marks.some(Boolean))
}

/** Fills the form, and calls onChange each time the filter changes. */
export function startFilter(onChange: () => void) {
  const programs = element('programs')
  for (const program of DATA.programs) programs.append(programBox(program))
  programs.hidden = DATA.programs.length < 2
  const form = element('filter')
  const read = () => {
    const ranks = elementOf(HTMLInputElement, 'ranks')
    const boxes = programs.querySelectorAll('input')
    shown.ranks = readPods(ranks.value)
    shown.programs = new Set([...boxes].flatMap((box) => (box.checked ? [box.value] : [])))
    shown.isOutliers = elementOf(HTMLInputElement, 'outliers').checked
    onChange()
  }
  form.addEventListener('input', read)
  form.addEventListener('submit', (event) => event.preventDefault())
  // The browser resets the fields after the event has been handled.
  form.addEventListener('reset', () => setTimeout(read))
}

function programBox(program: string) {
  const label = made('label')
  const box = made('input')
  Object.assign(box, { type: 'checkbox', value: program, checked: true, defaultChecked: true })
  label.append(box, ` ${program}`)
  return label
}

/** Shows only one rank; shows all ranks if only this rank was shown. */
export function showRank(rank: string) {
  const input = elementOf(HTMLInputElement, 'ranks')
  input.value = input.value === rank ? '' : rank
  input.dispatchEvent(new Event('input', { bubbles: true }))
}
