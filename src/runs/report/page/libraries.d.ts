// The libraries of the section of profiles, as far as the page uses them. They have no types.

declare module 'd3-flame-graph' {
  /** A function in a flame graph, with the functions that it called. */
  export interface Frame {
    readonly name: string
    /** The seconds in the function and in the functions that it called. */
    value: number
    /** The seconds in the function itself. */
    readonly self: number
    readonly children: Frame[]
  }

  /** A frame as d3-hierarchy holds it. */
  export interface FrameNode {
    readonly data: Frame
    /** Whether the search matches the frame. */
    readonly highlight?: boolean
  }

  export interface FlameGraph {
    (selection: unknown): void
    width(pixels: number): FlameGraph
    inverted(isInverted: boolean): FlameGraph
    sort(compare: (a: FrameNode, b: FrameNode) => number): FlameGraph
    minFrameSize(pixels: number): FlameGraph
    transitionDuration(milliseconds: number): FlameGraph
    label(text: (node: FrameNode) => string): FlameGraph
    color(colourOf: (node: FrameNode) => string): FlameGraph
    details(element: Element): FlameGraph
    setSearchMatch(matches: (node: FrameNode, term: string) => boolean): FlameGraph
    setSearchHandler(tell: (found: FrameNode[], seconds: number, whole: number) => void): FlameGraph
    search(term: string): void
    clear(): void
  }

  // biome-ignore lint/style/noDefaultExport: the library has a default export.
  export default function flamegraph(): FlameGraph
}

declare module 'd3-selection' {
  export function select(element: Element): { datum(data: unknown): unknown }
}

declare module '*.css'
