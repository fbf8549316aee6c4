// The filter of the page: pods, programs, and whether only outliers are shown.

import { DATA } from './data.ts'
import { element, elementOf, made } from './elements.ts'

const shown: { programs: Set<string>; pods: (pod: string) => boolean; isOutliers: boolean } = {
  programs: new Set(DATA.programs),
  pods: () => true,
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
    .map(podTest)
  return (pod: string) => tests.length === 0 || tests.some((test) => test(pod))
}

function podTest(part: string): (pod: string) => boolean {
  const range = /^(\d+)\s*-\s*(\d+)$/.exec(part)
  if (range !== null) {
    const [low, high] = [Number(range[1]), Number(range[2])]
    return (pod) => /^\d+$/.test(pod) && Number(pod) >= low && Number(pod) <= high
  }
  if (part.endsWith('*')) return (pod) => pod.startsWith(part.slice(0, -1))
  return (pod) => pod === part
}

/** Reports whether a line or a row is shown. */
export function isShown({
  pod,
  program,
  marks,
}: {
  pod: string
  program: string
  marks: readonly boolean[]
}) {
  if (!shown.pods(pod) || !shown.programs.has(program)) return false
  return !shown.isOutliers || marks.some(Boolean)
}

/** Reports whether a thing that belongs to no program is shown, such as a device. */
export function isPodShown({ pod, marks }: { pod: string; marks: readonly boolean[] }) {
  return shown.pods(pod) && (!shown.isOutliers || marks.some(Boolean))
}

/** Fills the form, and calls onChange each time the filter changes. */
export function startFilter(onChange: () => void) {
  const programs = element('programs')
  for (const program of DATA.programs) programs.append(programBox(program))
  programs.hidden = DATA.programs.length < 2
  const form = element('filter')
  const read = () => {
    const pods = elementOf(HTMLInputElement, 'pods')
    const boxes = programs.querySelectorAll('input')
    shown.pods = readPods(pods.value)
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

/** Shows only one pod; shows all pods if only this pod was shown. */
export function showPod(pod: string) {
  const input = elementOf(HTMLInputElement, 'pods')
  input.value = input.value === pod ? '' : pod
  input.dispatchEvent(new Event('input', { bubbles: true }))
}
