// The functions in which the processes spent their time: a flame graph, the functions in which
// ranks differ, and a table of the functions by rank. Only a page with profiles has this script,
// which follows all others.

import type { FlameGraph } from 'd3-flame-graph'
import type { PageData } from '../../data.ts'
import type { Titled } from '../../plots.ts'
import { DATA } from '../data.ts'
import { classed, inside, made, scrollOf } from '../elements.ts'
import { isRankShown } from '../filter.ts'
import { counted, plain } from '../format.ts'
import { showTable, startTable, type Table, type TableRow } from '../table.ts'
import { addTopic, startTopic } from '../topics.ts'
import { drawGraph, share, treeOf } from './flame.ts'

const PROFILES: NonNullable<PageData['profiles']> = DATA.profiles ?? { programs: [], omitted: 0 }
/** The choices of the section: a program, a rank, and the text to search for. */
const chosen = { program: 0, rank: '', text: '' }

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
  const tree = treeOf(profile(), chosen.rank)
  drawn.graph = drawGraph(inside('profiles', '.frames'), detail, tree)
  if (chosen.text !== '') drawn.graph.search(chosen.text)
}

/** Marks the frames with the text to search for. */
function markFrames() {
  if (chosen.text === '') showGraph()
  else drawn.graph?.search(chosen.text)
}

/** Shows the program and the rank that are chosen. */
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
  const { ranks, functions } = profile()
  const rows = functions.rows.flatMap((row) => {
    const name = functionName(row)
    const outs = row.outliers.map((indexes) => new Set(indexes))
    return ranks.flatMap((rank, index) => {
      const values = [row.self[index] ?? null, row.total[index] ?? null]
      if (values[0] === null) return []
      return [{ rank, program: name, values, marks: outs.map((own) => own.has(index)) }]
    })
  })
  const isRowShown = (row: TableRow) =>
    isRankShown(row) && (chosen.rank === '' || chosen.rank === row.rank)
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
  const { differences, omittedDifferences, ranks, incomplete, incompleteCount } = profile()
  const rows = differences.map((difference) => {
    const [worst] = difference.ranks
    const row = made('tr')
    const [self, more] = [worst?.self ?? 0, worst?.more ?? 0]
    const names = difference.ranks.map(({ rank }) => rank).join(', ')
    const others = difference.rankCount - difference.ranks.length
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
  const few = ranks.length < 3 ? ' At least three ranks are needed.' : ''
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
  'A rank is named if it used at least a quarter more time in the function itself than the ' +
  'median of the ranks, at least 1 % of the time of all its functions more, and more than four ' +
  'standard deviations more: of the ranks (estimated by the median absolute deviation), and of ' +
  'the number of samples (its square root).'

function differenceHead() {
  const [head, row] = [made('thead'), made('tr')]
  const titles = [
    'Ranks, the greatest first',
    'Function',
    'Greatest',
    'Median of the ranks',
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

/** Fills the list of the ranks, and says which are left out. */
function fillRanks(select: HTMLElement) {
  const { ranks, flame } = profile()
  const single = new Set(flame.single.map(({ rank }) => rank))
  const own = ranks.filter((rank) => single.has(rank)).map((rank) => [rank, rank] as const)
  fill(select, [['', `all ${counted(ranks.length, 'rank')}`], ...own])
  const left = ranks.length - own.length
  inside('profiles', '.left-out').textContent =
    left === 0
      ? ''
      : `The stacks of ${counted(left, 'single rank')} did not fit into the page. ` +
        'All ranks are in "all ranks".'
}

/** Adds the choices of the section. */
function addChoices(place: HTMLElement) {
  const programs = made('select')
  const ranks = made('select')
  const text = made('input')
  const select = { programs, ranks }
  Object.assign(text, { type: 'search', id: 'profile-search', spellcheck: false })
  programs.id = 'profile-program'
  ranks.id = 'profile-rank'
  fill(
    programs,
    PROFILES.programs.map(({ program, seconds }, index) => [
      String(index),
      `${program}, ${plain(seconds)} s`,
    ]),
  )
  place.append(choice('Program', programs), choice('Rank', ranks), choice('Search', text))
  programs.addEventListener('change', () => {
    Object.assign(chosen, { program: Number(programs.value), rank: '' })
    fillRanks(select.ranks)
    showProfile()
  })
  ranks.addEventListener('change', () => {
    chosen.rank = ranks.value
    showGraph()
    showFunctions()
  })
  text.addEventListener('input', () => {
    chosen.text = text.value.trim()
    markFrames()
  })
  fillRanks(ranks)
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
  const scroll = scrollOf('Functions by rank')
  scroll.append(table)
  functions.append(scroll, classed('p', 'note marks'), classed('p', 'note left'))
  const differing = scrollOf('Functions in which ranks differ')
  differing.append(classed('table', 'differing'))
  place.append(
    classed('p', 'note', `${ABOUT}${more}`),
    choices,
    classed('p', 'note left-out'),
    classed('output', 'told'),
    classed('div', 'frames'),
    made('h3', 'Functions in which ranks differ'),
    differing,
    classed('p', 'note rule'),
    made('h3', 'Functions by rank'),
    functions,
  )
  addChoices(choices)
}
