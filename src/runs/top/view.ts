import type { TopColumn } from './columns.ts'
import { FIRST_SORT } from './default-columns.ts'
import type { LineOrder } from './order.ts'
import type { LineUnit } from './pods.ts'

/** The lines that the user has chosen to see, and their order. */
export interface View extends LineOrder {
  readonly unit: LineUnit
  /** Whether the keys are typed into the filter. */
  readonly isTyping: boolean
  readonly isHelp: boolean
  /** The index of the first line that is shown. */
  readonly from: number
}

/** A key that the user presses, as node:readline names it. */
export interface Key {
  readonly name?: string | undefined
  readonly ctrl?: boolean | undefined
  /** The characters that the key types. */
  readonly text: string
}

/** The columns and the room for lines, on which the effect of a key depends. */
export interface Room {
  readonly columns: readonly TopColumn[]
  /** The number of lines that match the filter. */
  readonly lines: number
  /** The number of lines that fit. */
  readonly height: number
}

/**
 * Returns the first view.
 *
 * @param sort the key of the column to sort by, or `pod`; by default the time spent waiting for a
 * CPU, or else the first column
 */
export function firstView(
  columns: readonly TopColumn[],
  unit: LineUnit,
  sort: string | undefined,
): View {
  const usual = columns.find(({ title }) => title === FIRST_SORT) ?? columns[0]
  const chosen = columns.find(({ key }) => key === sort)
  return {
    sort: sort === 'pod' && chosen === undefined ? undefined : (chosen ?? usual)?.key,
    isReversed: false,
    filter: '',
    unit,
    isTyping: false,
    isHelp: false,
    from: 0,
  }
}

/**
 * Returns the key of the column to sort by after the columns have changed: the same column, or one
 * with the same title, which another metric now provides, or the first column.
 *
 * @param sort the key until now; undefined for the order of the pods
 */
export function keepSort(
  sort: string | undefined,
  before: readonly TopColumn[],
  after: readonly TopColumn[],
): string | undefined {
  const old = before.find(({ key }) => key === sort)
  if (old === undefined || before === after) return sort
  const same = after.find(({ column }) => column === old.column)
  const similar = after.find(({ title }) => title === old.title)
  return (same ?? similar ?? after[0])?.key
}

/** The keys of the table, for the help. */
export const KEY_HELP: readonly (readonly [string, string])[] = [
  ['s, right', 'sort by the next column'],
  ['left', 'sort by the previous column'],
  ['r', 'reverse the order'],
  ['/', 'show only lines that contain a text; Escape clears it'],
  ['p', 'switch between pods and their programs'],
  ['up, down', 'scroll by a line'],
  ['PgUp, PgDn', 'scroll by a page'],
  ['Home, End', 'go to the first or the last line'],
  ['?', 'show or close this help'],
  ['Ctrl-Z', 'suspend; the command fg of the shell continues'],
  ['q, Ctrl-C', 'quit'],
]

/** Returns the view after a key, or `quit`. Unknown keys change nothing. */
export function pressKey(view: View, key: Key, room: Room): View | 'quit' {
  if (key.ctrl === true && key.name === 'c') return 'quit'
  if (view.isTyping) return typeFilter(view, key)
  if (key.name === 'q') return 'quit'
  if (view.isHelp) return { ...view, isHelp: false }
  return keepInside(act(view, key, room), room)
}

function act(view: View, key: Key, room: Room): View {
  const action = ACTIONS[key.name ?? ''] ?? ACTIONS[key.text]
  return action === undefined || key.ctrl === true ? view : action(view, room)
}

type Action = (view: View, room: Room) => View

const ACTIONS: Readonly<Record<string, Action>> = {
  s: (view, room) => sortBy(view, room, 1),
  right: (view, room) => sortBy(view, room, 1),
  left: (view, room) => sortBy(view, room, -1),
  r: (view) => ({ ...view, isReversed: !view.isReversed }),
  p: (view) => ({ ...view, unit: view.unit === 'pod' ? 'program' : 'pod', from: 0 }),
  '/': (view) => ({ ...view, isTyping: true, filter: '', from: 0 }),
  '?': (view) => ({ ...view, isHelp: true }),
  escape: (view) => ({ ...view, filter: '' }),
  up: (view) => ({ ...view, from: view.from - 1 }),
  down: (view) => ({ ...view, from: view.from + 1 }),
  pageup: (view, { height }) => ({ ...view, from: view.from - height }),
  pagedown: (view, { height }) => ({ ...view, from: view.from + height }),
  home: (view) => ({ ...view, from: 0 }),
  end: (view, { lines }) => ({ ...view, from: lines }),
}

/** Sorts by the next or the previous of the pods and the columns. */
function sortBy(view: View, { columns }: Room, step: number): View {
  const keys = [undefined, ...columns.map(({ key }) => key)]
  const at = Math.max(keys.indexOf(view.sort), 0)
  return { ...view, sort: keys[(at + step + keys.length) % keys.length], from: 0 }
}

/** Returns the view with its first line inside the table. */
export function keepInside(view: View, { lines, height }: Room): View {
  const from = Math.max(0, Math.min(view.from, lines - height))
  return from === view.from ? view : { ...view, from }
}

/** The most characters of a filter. */
const MAX_FILTER_LENGTH = 200

function typeFilter(view: View, { name, text, ctrl }: Key): View {
  if (name === 'return' || name === 'enter') return { ...view, isTyping: false }
  if (name === 'escape') return { ...view, isTyping: false, filter: '' }
  if (name === 'backspace')
    return { ...view, filter: [...view.filter].slice(0, -1).join(''), from: 0 }
  const isText = ctrl !== true && /^\P{C}+$/u.test(text)
  return isText
    ? { ...view, filter: `${view.filter}${text}`.slice(0, MAX_FILTER_LENGTH), from: 0 }
    : view
}
