import { MARKERS } from './blocks.ts'
import { listColumns } from './columns.ts'
import type { Descriptions } from './descriptions.ts'
import { type Entry, isSample, type LogEntry } from './entry.ts'
import { type KnownOrigin, readPlace, readSummary } from './metadata.ts'
import { readLines } from './read.ts'
import { csvLines, jsonLines } from './write.ts'

/** The format of the output. There is no text for artifacts: each raw file is a file. */
export type LogFormat = 'jsonl' | 'csv' | 'logs' | 'artifacts'

/** Converts a log to another format, line by line. */
export interface Transcript {
  /** Reads a line and returns the text to write for it, which may be empty. */
  readonly push: (line: string) => string
  /**
   * Handles the end of the log, with the status that the pod has by then.
   */
  readonly end: (status: FinalStatus) => { readonly text: string; readonly done: Done }
}

/** What the status of a pod says when its log has ended. */
export interface FinalStatus extends WorkloadStatus {
  /** The termination message of the observer; null if there is none. */
  readonly message: string | null
  /** How the other containers ended; see `LogEntry`. */
  readonly ended: LogEntry['ended']
}

/** The status of a workload when the log of one of its pods has ended; see `LogEntry`. */
export type WorkloadStatus = Pick<LogEntry, 'observedPods' | 'time'>

/** The result of transcribing a log. */
export interface Done {
  readonly samples: number
  /** Missing parts, one sentence each. */
  readonly cuts: readonly string[]
  /**
   * Undefined if a part of the text comes from an observer; otherwise the first line that is not
   * blank, or an empty text if all lines are blank.
   */
  readonly foreign: string | undefined
}

export function transcribe(
  form: LogFormat,
  known: KnownOrigin,
  descriptions: Descriptions,
): Transcript {
  const reader = readLines(known, descriptions)
  const write = writerOf(form, descriptions)
  const all: Counts = { logs: [], samples: 0, first: undefined, hasStart: false }
  return {
    push: (line) => {
      if (line.trim() !== '') all.first ??= line
      all.hasStart ||= line.trim() === MARKERS.start
      const entries = counted(all, reader.push(line))
      return form === 'logs' ? `${line}\n` : write(entries)
    },
    end: (status) => {
      const ended = counted(all, reader.end())
      const done = summarize(all)
      const entries = ended.map((entry) => withStatus(entry, status))
      const isWritten = form !== 'logs' && done.foreign === undefined
      return { text: isWritten ? write(entries) : '', done }
    },
  }
}

interface Counts {
  readonly logs: LogEntry[]
  samples: number
  first: string | undefined
  /** Whether the marker of the collection's start was found. */
  hasStart: boolean
}

function counted(all: Counts, entries: readonly Entry[]): readonly Entry[] {
  for (const entry of entries) {
    if (entry.kind === 'log') all.logs.push(entry)
    else if (isSample(entry)) all.samples += 1
  }
  return entries
}

function summarize({ logs, samples, first, hasStart }: Counts): Done {
  const isOurs = hasStart || samples > 0 || logs.some(isOfObserver)
  if (!isOurs) return { samples, cuts: [], foreign: first ?? '' }
  return { samples, cuts: logs.flatMap(({ cuts }) => [...cuts]), foreign: undefined }
}

/**
 * Returns the text of an entry for a log that no longer exists, made from the summary in the
 * container's termination message. The text is empty if there is no summary or the format is not
 * `jsonl`.
 */
export function transcribeGone(
  form: LogFormat,
  known: KnownOrigin,
  descriptions: Descriptions,
  message: string | null,
): string {
  const summary = message === null ? [] : readSummary(message.split('\n'))
  if (summary.length === 0 || form !== 'jsonl') return ''
  const cuts = ['the log is gone: this is the summary in the termination message']
  const nothing = { metadata: {}, command: null, isAverage: false, timepoints: 0 }
  const place = readPlace(known, undefined, null)
  const notices = known.notices ?? []
  const rows = descriptions.get(place.metric ?? '') ?? null
  const { ended = null, podLimits = null, observedPods = null, time = null } = known
  const { attempt = null } = known
  const status = { summary, cuts, notices, ended, podLimits, observedPods, time, attempt }
  return jsonLines([{ kind: 'log', ...place, ...nothing, rows, ...status }])
}

function writerOf(
  form: LogFormat,
  descriptions: Descriptions,
): (entries: readonly Entry[]) => string {
  if (form === 'artifacts') return () => ''
  if (form !== 'csv') return jsonLines
  const columns = [...listColumns(descriptions).keys()]
  return (entries) => (entries.length === 0 ? '' : csvLines(entries, columns))
}

function isOfObserver({ metadata, summary }: LogEntry): boolean {
  return summary.length > 0 || Object.keys(metadata).length > 0
}

/**
 * Adds how containers ended, and the summary from the termination message if the log has none.
 */
export function withStatus(entry: Entry, status: FinalStatus): Entry {
  if (entry.kind !== 'log') return entry
  const { message, ended, observedPods, time } = status
  const hasSummary = entry.summary.length > 0 || message === null
  const summary = hasSummary ? entry.summary : readSummary(message.split('\n'))
  return { ...entry, ended, observedPods, time, summary }
}
