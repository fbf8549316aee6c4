import { mkdirSync, statSync } from 'node:fs'
import { lstat, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { errorMessage } from '../../lib/error-message.ts'
import { WriteError } from '../../lib/write-error.ts'
import { type ArtifactPart, artifactIn, isFileName, readArtifact } from '../log/artifact.ts'
import { attemptName } from '../log/attempt.ts'
import { type ArtifactFile, openArtifactFile } from './artifact-file.ts'
import type { RunningObserver } from './observers.ts'

/** The raw files in one log. */
export interface ArtifactLog {
  /** Reads a line of the log, and writes the part of a raw file that it contains. */
  readonly push: (line: string) => Promise<void>
  /** Handles the end of the log. */
  readonly end: () => Promise<ArtifactResult>
}

export interface ArtifactResult {
  /** The number of raw files that are complete. */
  readonly files: number
  /** A sentence for each raw file that is missing or incomplete, with its name. */
  readonly problems: readonly string[]
}

/** Writes the raw files in the logs of many observers. */
export interface ArtifactFolder {
  readonly open: (observer: RunningObserver) => ArtifactLog
}

/** The maximum bytes of all raw files of a log, and their maximum number. */
const MAX_BYTES = 2 ** 30
const MAX_FILES = 4096
/** The maximum number of sentences about the raw files of a log. */
const MAX_PROBLEMS = 100
/** The maximum characters of the name of a pod or a container (Kubernetes, DNS-1123 subdomain). */
const MAX_NAME_LENGTH = 253

/**
 * Opens the folder for raw files, and creates it if it does not exist. The files of a log are
 * written to FOLDER/POD/CONTAINER, those of an earlier attempt to FOLDER/POD/CONTAINER.attempt-N.
 *
 * @throws WriteError if the path is not a folder that can be written
 */
export function openArtifactFolder(path: string): ArtifactFolder {
  try {
    mkdirSync(path, { recursive: true })
    if (!statSync(path).isDirectory()) throw new Error('it is not a folder')
  } catch (error) {
    throw new WriteError(`cannot write ${path}: ${errorMessage(error)}`)
  }
  return {
    open: ({ pod, container, attempt }) =>
      readArtifacts(path, [pod, attemptName(container, '.', attempt)]),
  }
}

interface ReadingState {
  readonly root: string
  readonly folders: readonly string[]
  readonly folder: string
  readonly complete: Set<string>
  /** The names of the files that have a problem, and the sentences about the first ones. */
  readonly failed: Set<string>
  readonly problems: string[]
  /** The file whose next part is expected. */
  open: { readonly first: ArtifactPart; readonly file: ArtifactFile; next: number } | undefined
  bytes: number
  isUnsafe: boolean
}

/**
 * Reads the raw files of a log. An observer writes one file after another, and the parts of a file
 * in their order. Every other order means that the log is incomplete or was not written by an
 * observer.
 */
function readArtifacts(path: string, folders: readonly string[]): ArtifactLog {
  const state: ReadingState = {
    root: path,
    folders,
    folder: join(path, ...folders),
    complete: new Set(),
    failed: new Set(),
    problems: [],
    open: undefined,
    bytes: 0,
    isUnsafe: !folders.every((name) => isFileName(name, MAX_NAME_LENGTH)),
  }
  return {
    push: async (line) => {
      const artifact = artifactIn(line)
      if (artifact === undefined) return
      const read = readArtifact(artifact)
      if (typeof read === 'string') return fail(state, '', `a line about a raw file: ${read}`)
      if (read.kind === 'part') return takePart(state, read)
      fail(state, read.file, `raw file ${read.file} is not in the log: ${read.reason}`)
    },
    end: async () => {
      await abandon(state)
      const more = state.failed.size - state.problems.length
      const rest = more > 0 ? [`${more} other raw files are missing or incomplete`] : []
      return { files: state.complete.size, problems: [...state.problems, ...rest] }
    },
  }
}

async function takePart(state: ReadingState, part: ArtifactPart): Promise<void> {
  if (!isNext(state.open, part)) {
    await abandon(state)
    if (part.part !== 1) return failPart(state, part, `part ${part.part - 1} is missing`)
    if (!(await begin(state, part))) return
  }
  const { open } = state
  if (open === undefined) return
  open.next += 1
  await open.file.write(Buffer.from(part.data, 'base64'))
  if (part.part < part.parts) return
  state.open = undefined
  const problem = await open.file.finish()
  if (problem !== undefined) return failPart(state, part, problem)
  state.complete.add(part.file)
}

function isNext(open: ReadingState['open'], part: ArtifactPart): boolean {
  if (open === undefined || part.part !== open.next) return false
  const { file, parts, bytes, crc32 } = open.first
  return part.file === file && part.parts === parts && part.bytes === bytes && part.crc32 === crc32
}

/** Begins a file. Returns false if it is not written. */
async function begin(state: ReadingState, first: ArtifactPart): Promise<boolean> {
  const { folder, complete } = state
  state.bytes += first.bytes
  const problem = limitProblem(state)
  if (problem !== undefined) {
    failPart(state, first, problem)
    return false
  }
  try {
    if (complete.size === 0) await makeFolders(state.root, state.folders)
    const file = await openArtifactFile(join(folder, first.file), folder, first)
    state.open = { first, file, next: 1 }
    return true
  } catch (error) {
    failPart(state, first, `it cannot be written: ${errorMessage(error)}`)
    return false
  }
}

/**
 * Creates the folders of a log. In a shared folder, another user could have created a link under
 * one of their names, which would lead out of the folder.
 */
async function makeFolders(root: string, names: readonly string[]): Promise<void> {
  let folder = root
  for (const name of names) {
    folder = join(folder, name)
    await mkdir(folder, { recursive: true })
    if (!(await lstat(folder)).isDirectory()) throw new Error(`${folder} is a link`)
  }
}

function limitProblem({ isUnsafe, bytes, complete, failed }: ReadingState): string | undefined {
  if (isUnsafe) return 'the name of its pod or container is not safe as the name of a folder'
  if (bytes > MAX_BYTES) return 'the raw files of a log may have at most 1 GiB'
  const isFull = complete.size + failed.size >= MAX_FILES
  return isFull ? `a log may have at most ${MAX_FILES} raw files` : undefined
}

/** Ends the open file, because its next part is missing. */
async function abandon(state: ReadingState): Promise<void> {
  const { open } = state
  if (open === undefined) return
  state.open = undefined
  await open.file.discard()
  failPart(state, open.first, `part ${open.next} of ${open.first.parts} is missing`)
}

function failPart(state: ReadingState, { file }: ArtifactPart, problem: string): void {
  fail(state, file, `raw file ${file} is missing or incomplete: ${problem}`)
}

/** Adds a sentence about a file, unless there is one already. */
function fail({ failed, problems }: ReadingState, file: string, sentence: string): void {
  if (failed.has(file) || failed.size > MAX_FILES) return
  failed.add(file)
  if (problems.length < MAX_PROBLEMS) problems.push(sentence)
}
