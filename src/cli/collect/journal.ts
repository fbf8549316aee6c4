import { type FileHandle, open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { asFields } from '../../core/kubernetes/json.ts'
import { cannotContinue } from './write-failure.ts'

/** The name of the journal in a folder of collected logs. */
export const JOURNAL = '.ridealong-collect.jsonl'

/** A line of the journal: a log that was collected as a whole, after its container had ended. */
export interface CollectedLog {
  readonly namespace: string
  readonly pod: string
  readonly container: string
  /** The UID of the pod. */
  readonly uid: string
  /** The UID of the pod's controller; null if it has none. */
  readonly owner: string | null
  /** The number of restarts of the container before this log. */
  readonly restarts: number
  /** The hash of the format of the file: see `log-identity.ts`. */
  readonly format: string
  /** The hash of the facts about the pod in the file: see `log-identity.ts`. */
  readonly facts: string
  /** The size of the file. */
  readonly bytes: number
  readonly samples: number
  readonly cuts: readonly string[]
}

/** The journal of a folder: which of its files are complete logs. */
export interface Journal {
  /** The logs that earlier runs have collected. */
  readonly before: readonly CollectedLog[]
  readonly add: (log: CollectedLog) => Promise<void>
  readonly close: () => Promise<void>
}

/**
 * Opens the journal of a folder. A run that was killed may have written a part of a line: lines
 * that cannot be read are ignored, and their logs are collected again.
 *
 * @throws UsageError if the journal cannot be read or written
 */
export async function openJournal(folder: string): Promise<Journal> {
  const path = join(folder, JOURNAL)
  const fail = cannotContinue(path)
  const { text, handle } = await readAndOpen(path).catch(fail)
  const before = text.split('\n').flatMap((line) => readEntry(line) ?? [])
  let separator = text === '' || text.endsWith('\n') ? '' : '\n'
  return {
    before,
    add: async (log) => {
      const line = `${separator}${JSON.stringify(log)}\n`
      separator = ''
      await handle.appendFile(line).catch(fail)
    },
    close: () => handle.close(),
  }
}

async function readAndOpen(
  path: string,
): Promise<{ readonly text: string; readonly handle: FileHandle }> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  return { text, handle: await open(path, 'a') }
}

const TEXTS = ['namespace', 'pod', 'container', 'uid', 'format', 'facts'] as const
const NUMBERS = ['restarts', 'bytes', 'samples'] as const

function readEntry(line: string): CollectedLog | undefined {
  const fields = parseFields(line)
  if (fields === undefined) return undefined
  const { owner, cuts } = fields
  const isEntry =
    TEXTS.every((key) => typeof fields[key] === 'string') &&
    NUMBERS.every((key) => typeof fields[key] === 'number') &&
    (owner === null || typeof owner === 'string') &&
    Array.isArray(cuts) &&
    cuts.every((cut) => typeof cut === 'string')
  return isEntry ? (fields as unknown as CollectedLog) : undefined
}

function parseFields(line: string) {
  try {
    return asFields(JSON.parse(line))
  } catch {
    return undefined
  }
}
