import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { parseFields } from '../../core/kubernetes/json.ts'
import { isOwn } from '../../lib/whole-file.ts'
import { cannotContinue } from '../../lib/write-error.ts'
import { isFileName } from '../log/artifact.ts'

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
  /** The number of the attempt; null if it was the last one when the log was collected. */
  readonly attempt: number | null
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
 * Another user may have created the folder, and the journal names files that `collect` removes. So
 * the journal is not opened through a link, it must belong to this user, and the names in its lines
 * must be names of files.
 *
 * @throws WriteError if the journal cannot be read or written, or belongs to another user
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
  const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW = 0 } = constants
  const handle = await open(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW, 0o666)
  try {
    const { uid, nlink } = await handle.stat()
    if (!isOwn(uid)) throw new Error(`it belongs to another user (uid ${uid}); remove it`)
    if (nlink > 1) throw new Error('it has a second name (a hard link); remove it')
    const text = await handle.readFile('utf8')
    return { text, handle }
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** The maximum characters of the name of a pod or a container (Kubernetes, DNS-1123 subdomain). */
const MAX_NAME_LENGTH = 253

const TEXTS = ['namespace', 'pod', 'container', 'uid', 'format', 'facts'] as const
const NUMBERS = ['restarts', 'bytes', 'samples'] as const

function readEntry(line: string): CollectedLog | undefined {
  const fields = parseFields(line)
  if (fields === undefined) return undefined
  const { owner, attempt, cuts } = fields
  const isEntry =
    TEXTS.every((key) => typeof fields[key] === 'string') &&
    NUMBERS.every((key) => typeof fields[key] === 'number') &&
    (owner === null || typeof owner === 'string') &&
    (attempt === null || Number.isSafeInteger(attempt)) &&
    Array.isArray(cuts) &&
    cuts.every((cut) => typeof cut === 'string') &&
    isFileName(String(fields.pod), MAX_NAME_LENGTH) &&
    isFileName(String(fields.container), MAX_NAME_LENGTH)
  return isEntry ? (fields as unknown as CollectedLog) : undefined
}
