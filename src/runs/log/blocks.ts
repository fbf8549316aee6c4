/**
 * The markers that delimit the parts of an observer's log. The scripts of the Metrics Operator
 * print these markers (converged-computing/metrics-operator pkg/metrics/perf/sysstat.go,
 * pkg/metrics/io/sysstat.go), and the Python package of the Metrics Operator reads them
 * (sdk/python/v1alpha2/metricsoperator/metrics/base.py).
 */
export const MARKERS = {
  metadataStart: 'METADATA START',
  metadataEnd: 'METADATA END',
  commandStart: 'PIDSTAT COMMAND START',
  commandEnd: 'PIDSTAT COMMAND END',
  start: 'METRICS OPERATOR COLLECTION START',
  timepoint: 'METRICS OPERATOR TIMEPOINT',
  end: 'METRICS OPERATOR COLLECTION END',
} as const

/**
 * A part of a log, complete or truncated. The marker of the collection's start and each line that
 * is in no other part, such as a row of a log in JSON Lines, are each a separate part.
 */
export interface Block {
  readonly kind: 'metadata' | 'command' | 'start' | 'line' | 'timepoint' | 'end'
  readonly lines: readonly string[]
  /** Whether the closing marker of the block was found. */
  readonly isWhole: boolean
}

/** The maximum characters of a part. The rest of a longer part is left out: the part is cut. */
const MAX_BLOCK_LENGTH = 1 << 24

type Open = { readonly kind: Block['kind']; readonly lines: string[]; length: number }

export interface BlockReader {
  /** Reads a line without its line break and returns the blocks that end with this line. */
  readonly push: (line: string) => readonly Block[]
  /** Returns the block that is still open, with its lines until now; undefined if there is none. */
  readonly open: () => Pick<Block, 'kind' | 'lines'> | undefined
  /** Handles the end of the text and returns the block that was still open. */
  readonly end: () => readonly Block[]
}

/** Splits a log into its parts, line by line, and keeps at most one part in memory. */
export function readBlocks(): BlockReader {
  let open: Open | undefined
  const close = (isWhole: boolean): readonly Block[] => {
    if (open === undefined) return []
    const { kind, lines, length } = open
    open = undefined
    return [{ kind, lines, isWhole: isWhole && length <= MAX_BLOCK_LENGTH }]
  }
  const begin = (marker: Marker, line: string): readonly Block[] => {
    const kind = OPENS[marker]
    if (kind !== undefined) open = { kind, lines: textAfter(line, marker), length: 0 }
    return marker === 'start' ? [{ kind: 'start', lines: [], isWhole: true }] : []
  }
  return {
    push: (raw) => {
      const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw
      const marker = findMarker(line)
      if (marker !== undefined) return [...close(isClosedBy(open, marker)), ...begin(marker, line)]
      if (open === undefined) return [{ kind: 'line', lines: [line], isWhole: true }]
      open.length += line.length
      if (open.length <= MAX_BLOCK_LENGTH) open.lines.push(line)
      return []
    },
    open: () => open,
    end: () => close(open?.kind === 'end'),
  }
}

/**
 * Reports whether a marker is the closing marker of the open block. Any other marker also ends the
 * block, which is then truncated. A timepoint ends at the next timepoint or at the end of the
 * collection. The metadata and the command have their own closing markers. The block after the end
 * of the collection has no closing marker, and is always complete.
 */
function isClosedBy(open: Open | undefined, marker: Marker): boolean {
  return open?.kind === 'end' || CLOSES[marker] === open?.kind
}

type Marker = keyof typeof MARKERS

const OPENS: Readonly<Partial<Record<Marker, Block['kind']>>> = {
  metadataStart: 'metadata',
  commandStart: 'command',
  timepoint: 'timepoint',
  end: 'end',
}

const CLOSES: Readonly<Partial<Record<Marker, Block['kind']>>> = {
  metadataEnd: 'metadata',
  commandEnd: 'command',
  timepoint: 'timepoint',
  end: 'timepoint',
}

const NAMES = Object.keys(MARKERS) as readonly Marker[]

function findMarker(line: string): Marker | undefined {
  if (!line.startsWith('M') && !line.startsWith('P')) return undefined
  return NAMES.find((name) => {
    return name === 'metadataStart' ? line.startsWith(MARKERS[name]) : line.trim() === MARKERS[name]
  })
}

/**
 * Returns the text after a marker on the same line. The metadata start on the line of their marker.
 */
function textAfter(line: string, marker: Marker): string[] {
  const rest = line.slice(MARKERS[marker].length).trim()
  return rest === '' ? [] : [rest]
}
