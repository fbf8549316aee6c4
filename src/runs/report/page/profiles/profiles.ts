// The functions in which the processes spent their time: a flame graph, the functions in which
// pods differ, and a table of the functions by pod. Only a page with profiles has this script,
// which follows all others.

import type { FlameGraph } from 'd3-flame-graph'
import type { PageData } from '../../data.ts'
import type { Titled } from '../../plots.ts'
import { DATA } from '../data.ts'
import { classed, inside, made, scrollOf } from '../elements.ts'
import { isPodShown } from '../filter.ts'
import { counted, plain } from '../format.ts'
import { showTable, startTable, type Table, type TableRow } from '../table.ts'
import { addTopic, startTopic } from '../topics.ts'
import { drawGraph, share, treeOf } from './flame.ts'

const NO_PROFILES = { programs: [], omitted: 0, hot: null }
const PROFILES: NonNullable<PageData['profiles']> = DATA.profiles ?? NO_PROFILES
/** The choices of the section: a program, a pod, and the text to search for. */
const chosen = { program: 0, pod: '', text: '' }

const drawn: { graph: FlameGraph | undefined; table: Table | undefined } = {
  graph: undefined,
  table: undefined,
}

function profile() {
  const own = PROFILES.programs[chosen.program]
  if (own === undefined) throw new Error(`there is no program ${chosen.program}`)
  return own
}

function showGraph() {
  const detail = inside('profiles', '.told')
  detail.textContent = ''
  const tree = treeOf(profile(), chosen.pod)
  drawn.graph = drawGraph(inside('profiles', '.frames'), detail, tree)
  if (chosen.text !== '') drawn.graph.search(chosen.text)
}

/** Marks the frames with the text to search for. */
function markFrames() {
  if (chosen.text === '') showGraph()
  else drawn.graph?.search(chosen.text)
}

/** Shows the program and the pod that are chosen. */
function showProfile() {
  showGraph()
  showDifferences()
  showFunctions()
}

function functionName({ name, library }: { name: string; library: string | null }) {
  return library === null || name === `[${library}]` ? name : `${name} (${library})`
}

const SECONDS = { key: '', unit: 's' }
const TIMES: readonly Titled[] = [
  { ...SECONDS, title: 'Self', meaning: 'time in the function itself' },
  { ...SECONDS, title: 'Total', meaning: 'and in the functions that it called' },
]

function showFunctions() {
  const { pods, functions } = profile()
  const rows = functions.rows.flatMap((row) => {
    const name = functionName(row)
    const outs = row.outliers.map((indexes) => new Set(indexes))
    return pods.flatMap((pod, index) => {
      const values = [row.self[index] ?? null, row.total[index] ?? null]
      if (values[0] === null) return []
      return [{ pod, program: name, values, marks: outs.map((own) => own.has(index)) }]
    })
  })
  const isRowShown = (row: TableRow) =>
    isPodShown(row) && (chosen.pod === '' || chosen.pod === row.pod)
  const table = startTable(
    { columns: TIMES, rows, isShown: isRowShown },
    'functions',
    'Function',
    '.marks',
  )
  table.column = 0
  table.isDown = true
  drawn.table = table
  showTable(table)
  const left = functions.omitted
  inside('functions', '.left').textContent =
    left === 0 ? '' : `${counted(left, 'function')} with less self time did not fit into the page.`
}

function showDifferences() {
  const { differences, omittedDifferences, pods, incomplete, incompleteCount } = profile()
  const rows = differences.map((difference) => {
    const [worst] = difference.pods
    const row = made('tr')
    const [self, more] = [worst?.self ?? 0, worst?.more ?? 0]
    const names = difference.pods.map(({ pod }) => pod).join(', ')
    const others = difference.podCount - difference.pods.length
    const cells = [
      others > 0 ? `${names} and ${others.toLocaleString('en')} more` : names,
      functionName(difference),
      plain(self),
      plain(difference.median),
      plain(more),
      difference.median > 0 ? share(more, difference.median) : '–',
    ]
    row.append(...cells.map((cell) => made('td', cell)))
    return row
  })
  const place = inside('profiles', '.differing')
  const body = made('tbody')
  body.append(...rows)
  place.replaceChildren(...(rows.length === 0 ? [] : [differenceHead(), body]))
  const few = pods.length < 3 ? ' At least three pods are needed.' : ''
  const left =
    omittedDifferences > 0 ? ` ${counted(omittedDifferences, 'more function')} differ.` : ''
  const ends =
    incompleteCount === 0
      ? ''
      : ` Not compared, because a profile is not complete: ${incomplete.join(', ')}${
          incompleteCount > incomplete.length
            ? ` and ${incompleteCount - incomplete.length} more`
            : ''
        }.`
  const none = rows.length === 0 ? `No function differs.${few} ` : ''
  inside('profiles', '.rule').textContent = `${none}${RULE}${left}${ends}`
}

const RULE =
  'A pod is named if it used at least a quarter more time in the function itself than the ' +
  'median of the pods, at least 1 % of the time of all its functions more, and more than four ' +
  'standard deviations more: of the pods (estimated by the median absolute deviation), and of ' +
  'the number of samples (its square root).'

function differenceHead() {
  const [head, row] = [made('thead'), made('tr')]
  const titles = [
    'Pods, the greatest first',
    'Function',
    'Greatest',
    'Median of the pods',
    'Difference',
    '',
  ]
  for (const [index, title] of titles.entries()) {
    const cell = made('th', title)
    if (index > 1 && title !== '') cell.append(made('small', 's'))
    row.append(cell)
  }
  head.append(row)
  return head
}

function choice(words: string, input: HTMLElement) {
  const label = made('label', `${words} `)
  label.append(input)
  return label
}

function fill(select: HTMLElement, options: readonly (readonly [string, string])[]) {
  select.replaceChildren(
    ...options.map(([value, text]) => {
      const option = made('option', text)
      option.value = value
      return option
    }),
  )
}

/** Fills the list of the pods, and says which are left out. */
function fillPods(select: HTMLElement) {
  const { pods, flame } = profile()
  const single = new Set(flame.single.map(({ pod }) => pod))
  const own = pods.filter((pod) => single.has(pod)).map((pod) => [pod, pod] as const)
  fill(select, [['', `all ${counted(pods.length, 'pod')}`], ...own])
  const left = pods.length - own.length
  inside('profiles', '.left-out').textContent =
    left === 0
      ? ''
      : `The stacks of ${counted(left, 'single pod')} did not fit into the page. ` +
        'All pods are in "all pods".'
}

/** Adds the choices of the section. */
function addChoices(place: HTMLElement) {
  const programs = made('select')
  const pods = made('select')
  const text = made('input')
  const select = { programs, pods }
  Object.assign(text, { type: 'search', id: 'profile-search', spellcheck: false })
  programs.id = 'profile-program'
  pods.id = 'profile-pod'
  fill(
    programs,
    PROFILES.programs.map(({ program, seconds }, index) => [
      String(index),
      `${program}, ${plain(seconds)} s`,
    ]),
  )
  place.append(choice('Program', programs), choice('Pod', pods), choice('Search', text))
  programs.addEventListener('change', () => {
    Object.assign(chosen, { program: Number(programs.value), pod: '' })
    fillPods(select.pods)
    showProfile()
  })
  pods.addEventListener('change', () => {
    chosen.pod = pods.value
    showGraph()
    showFunctions()
  })
  text.addEventListener('input', () => {
    chosen.text = text.value.trim()
    markFrames()
  })
  fillPods(pods)
}

const ABOUT =
  'Samples of the processor time, by stack of functions; of Python, also of the time in which ' +
  'threads were waiting, which is chosen with the program. A frame is a function; its width is ' +
  'the time in it and in the functions that it called, which are below it. Click on a frame to ' +
  'enlarge it, and on the outermost one to see everything again.'

/** Only programs with samples of Python have other times than processor time. */
const TITLE = PROFILES.programs.some(({ kind }) => kind !== 'processor')
  ? 'Time by function'
  : 'Processor time by function'

/** Adds the topic. */
export function addProfiles() {
  const count = counted(PROFILES.programs.length, 'program')
  const place = addTopic('profiles', TITLE, count)
  startTopic(place, () => {
    buildProfiles(place)
    return showProfile
  })
}

function buildProfiles(place: HTMLElement) {
  const left = PROFILES.omitted
  const more =
    left > 0 ? ` ${counted(left, 'program')} with less time did not fit into the page.` : ''
  const [choices, functions] = [classed('div', 'choices'), made('div')]
  functions.id = 'functions'
  const table = made('table')
  table.append(made('thead'), made('tbody'))
  const scroll = scrollOf('Functions by pod')
  scroll.append(table)
  functions.append(scroll, classed('p', 'note marks'), classed('p', 'note left'))
  const differing = scrollOf('Functions in which pods differ')
  differing.append(classed('table', 'differing'))
  place.append(
    classed('p', 'note', `${ABOUT}${more}`),
    choices,
    classed('p', 'note left-out'),
    classed('output', 'told'),
    classed('div', 'frames'),
    made('h3', 'Functions in which pods differ'),
    differing,
    classed('p', 'note rule'),
    made('h3', 'Functions by pod'),
    functions,
  )
  addChoices(choices)
}
