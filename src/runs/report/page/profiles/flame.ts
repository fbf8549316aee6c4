// The flame graph of a program, drawn by d3-flame-graph.

import flamegraph, { type Frame, type FrameNode } from 'd3-flame-graph'
import { select } from 'd3-selection'
import { rounded } from '../../../../lib/round.ts'
import type { PageData } from '../../data.ts'
import { counted, plain } from '../format.ts'

/** The profile of a program. */
export type Profile = NonNullable<PageData['profiles']>['programs'][number]

/** The name of frames that stand for others, such as "(other)" and "...". */
const REST = /^\(.*\)$|^\.\.\.$/
/** The least width of a frame in pixels. */
const MIN_WIDTH = 0.5
const SHADES = 4

/** Formats seconds with all digits that were measured. */
function exactly(seconds: number) {
  return `${rounded(seconds)} s`
}

export function share(part: number, whole: number) {
  return `${whole > 0 ? plain((100 * part) / whole) : 0} %`
}

/**
 * Returns the seconds in each frame itself, of all pods or of one pod.
 *
 * @param pod the pod; empty for all pods
 */
function selfSeconds({ flame }: Profile, pod: string): readonly number[] {
  const single = flame.single.find((other) => other.pod === pod)
  if (single === undefined) return flame.seconds
  const seconds: number[] = new Array(flame.parents.length).fill(0)
  for (const [index, frame] of single.frames.entries()) seconds[frame] = single.seconds[index] ?? 0
  return seconds
}

/**
 * Returns the tree of the frames with time, of all pods or of one pod.
 *
 * @param pod the pod; empty for all pods
 */
export function treeOf(profile: Profile, pod: string): Frame {
  const { names, parents, functions } = profile.flame
  const label = pod === '' ? 'all pods' : podLabel(pod)
  const frames = selfSeconds(profile, pod).map((seconds, frame): Frame => {
    const name = names[functions[frame] ?? -1] ?? label
    return { name, value: seconds, self: seconds, children: [] }
  })
  // A frame follows its parent.
  for (let frame = frames.length - 1; frame > 0; frame--)
    addFrame(frames, frame, parents[frame] ?? 0)
  return frames[0] ?? { name: label, value: 0, self: 0, children: [] }
}

function addFrame(frames: readonly Frame[], frame: number, above: number) {
  const [child, parent] = [frames[frame], frames[above]]
  if (child === undefined || parent === undefined || child.value === 0) return
  parent.value += child.value
  parent.children.push(child)
}

function podLabel(pod: string) {
  return /^\d/.test(pod) ? `pod ${pod}` : pod
}

/** Compares names; frames that stand for others are last. */
function compareFrames({ data: a }: FrameNode, { data: b }: FrameNode) {
  const byRest = Number(REST.test(a.name)) - Number(REST.test(b.name))
  return byRest || (a.name < b.name ? -1 : Number(a.name > b.name))
}

function frameColour({ data, highlight }: FrameNode) {
  if (highlight) return 'var(--frame-found)'
  if (REST.test(data.name)) return 'var(--frame-rest)'
  let sum = 0
  for (const character of data.name.slice(0, 64)) sum += character.codePointAt(0) ?? 0
  return `var(--frame-${sum % SHADES})`
}

/**
 * Draws a flame graph, and returns it.
 *
 * @param detail the element for the text about the frame below the pointer
 */
export function drawGraph(place: Element, detail: Element, tree: Frame) {
  const graph = flamegraph()
    .width(Math.max(place.clientWidth, 300))
    .inverted(true)
    .sort(compareFrames)
    .minFrameSize(MIN_WIDTH)
    .transitionDuration(150)
    .color(frameColour)
    .label(({ data: { name, value, self } }) => {
      const itself = self > 0 && self < value ? `; ${exactly(self)} in itself` : ''
      const whole = `${share(value, tree.value)} of ${exactly(tree.value)}`
      return `${name}: ${exactly(value)}, ${whole}${itself}`
    })
    .details(detail)
    .setSearchMatch(({ data }, text) => data.name.toLowerCase().includes(text.toLowerCase()))
    .setSearchHandler((found, seconds) => tellFound(detail, found.length, seconds, tree.value))
  place.replaceChildren()
  graph(select(place).datum(tree))
  return graph
}

function tellFound(told: Element, frames: number, seconds: number, whole: number) {
  const time = `${exactly(seconds)}, ${share(seconds, whole)} of ${exactly(whole)}`
  told.textContent = `found: ${counted(frames, 'frame')} with ${time}`
}
