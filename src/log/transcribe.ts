import type { Entry, LogEntry } from './entry.ts'
import { type KnownOrigin, readPlace, readSummary } from './metadata.ts'
import { readLines } from './read.ts'
import { csvLines, jsonLines } from './write.ts'

export type LogFormat = 'jsonl' | 'csv' | 'logs'

/** Writes a log in another form, as its lines come. */
export interface Transcript {
  /** Takes a line; answers with the text to write for it, which may be none. */
  readonly push: (line: string) => string
  /** Takes the end, and the termination message of the container where there is one. */
  readonly end: (message: string | null) => { readonly text: string; readonly done: Done }
}

/** What is to be told of a log that was transcribed. */
export interface Done {
  readonly samples: number
  /** What is missing, a sentence each. */
  readonly cuts: readonly string[]
  /** The first line, where nothing in the text is an observer's. */
  readonly foreign: string | undefined
}

export function transcribe(form: LogFormat, known: KnownOrigin): Transcript {
  const reader = readLines(known)
  const all: Counts = { logs: [], samples: 0, first: undefined }
  return {
    push: (line) => {
      if (line.trim() !== '') all.first ??= line
      const entries = counted(all, reader.push(line))
      return form === 'logs' ? `${line}\n` : writeEntries(form, entries)
    },
    end: (message) => {
      const ended = counted(all, reader.end())
      const done = summarize(all)
      const entries = ended.map((entry) => withMessage(entry, message))
      const isWritten = form !== 'logs' && done.foreign === undefined
      return { text: isWritten ? writeEntries(form, entries) : '', done }
    },
  }
}

interface Counts {
  readonly logs: LogEntry[]
  samples: number
  first: string | undefined
}

function counted(all: Counts, entries: readonly Entry[]): readonly Entry[] {
  for (const entry of entries) {
    if (entry.kind === 'log') all.logs.push(entry)
    else all.samples += 1
  }
  return entries
}

function summarize({ logs, samples, first }: Counts): Done {
  const isOurs = samples > 0 || logs.some(isOfObserver)
  if (!isOurs) return { samples, cuts: [], foreign: first ?? '' }
  return { samples, cuts: logs.flatMap(({ cuts }) => [...cuts]), foreign: undefined }
}

/** What is left of a log that is gone: the summary in the container's termination message. */
export function transcribeGone(
  form: LogFormat,
  known: KnownOrigin,
  message: string | null,
): string {
  const summary = message === null ? [] : readSummary(message.split('\n'))
  if (summary.length === 0 || form !== 'jsonl') return ''
  const cuts = ['the log is gone: this is the summary in the termination message']
  const nothing = { metadata: {}, command: null, isAverage: false, timepoints: 0 }
  const place = readPlace(known, undefined, null)
  const notices = known.notices ?? []
  return jsonLines([{ kind: 'log', ...place, ...nothing, summary, cuts, notices }])
}

function writeEntries(form: LogFormat, entries: readonly Entry[]): string {
  if (entries.length === 0) return ''
  return form === 'csv' ? csvLines(entries) : jsonLines(entries)
}

function isOfObserver({ metadata, summary }: LogEntry): boolean {
  return summary.length > 0 || Object.keys(metadata).length > 0
}

/** The termination message holds the summary also where the log lost its end. */
function withMessage(entry: Entry, message: string | null): Entry {
  if (entry.kind !== 'log' || entry.summary.length > 0 || message === null) return entry
  return { ...entry, summary: readSummary(message.split('\n')) }
}
