import {
  asFields,
  asText,
  type Fields,
  fieldsOrNone,
  listOrNone,
  numberOrNull,
} from '../../core/kubernetes/json.ts'
import { printable } from '../../core/text/printable.ts'
import { rounded } from '../../lib/round.ts'
import { findingText } from '../card/card-findings.ts'
import type { UsedNumber } from '../card/card-numbers.ts'
import type { RunCard } from '../card/run-card.ts'
import { readPhase } from '../facts/run.ts'
import { readSpentTime, spentDocument } from '../time/time-document.ts'
import type { ListedRun } from './listed-run.ts'

const MAX_WORKLOAD_LENGTH = 320
const MAX_FINDING_LENGTH = 160
const MAX_IMAGE_LENGTH = 256
const MAX_IMAGES = 8

/** Facts about a run that the archive knows of each run, also of one without an object Run. */
export interface KnownFacts {
  /** The name of its object Run. */
  readonly name: string
  /** The images of its containers. */
  readonly images: ReadonlySet<string>
}

/** Returns what an index says about the run of a card. */
export function listRun(
  { name, images }: KnownFacts,
  { run, started, seconds, time, cores, memory, findings: [first] }: RunCard,
): ListedRun {
  return {
    name,
    workload: printable(`${run.word}/${run.name}`, MAX_WORKLOAD_LENGTH),
    phase: run.phase,
    started: started === null ? null : started / 1000,
    seconds: rounded(seconds),
    time: time === null ? null : spentDocument(time),
    pods: run.podCounts,
    cores: { used: rounded(cores.used), requested: cores.requested },
    memory: { used: memory.used, requested: memory.requested },
    images: limitImages(images),
    finding: first === undefined ? null : printable(findingText(first), MAX_FINDING_LENGTH),
  }
}

function limitImages(images: ReadonlySet<string>): readonly string[] {
  return [...images].slice(0, MAX_IMAGES).map((image) => printable(image, MAX_IMAGE_LENGTH))
}

/**
 * Returns what an index says about a run whose object Run does not exist any more.
 *
 * @param started in milliseconds since 1970
 */
export function listUnknown(
  { name, images }: KnownFacts,
  workload: string,
  started: number | null,
): ListedRun {
  const unknown = { used: null, requested: null }
  return {
    name,
    workload: printable(workload, MAX_WORKLOAD_LENGTH),
    phase: null,
    started: started === null ? null : started / 1000,
    seconds: null,
    time: null,
    pods: null,
    cores: unknown,
    memory: unknown,
    images: limitImages(images),
    finding: null,
  }
}

/** Reads a listed run from a file of the archive; undefined if it has no name. */
export function readListedRun(fields: Fields): ListedRun | undefined {
  const [name, workload] = [asText(fields.name), asText(fields.workload)]
  if (name === undefined || workload === undefined) return undefined
  const { observed, expected } = fieldsOrNone(fields.pods)
  const [left, right] = [numberOrNull(observed), numberOrNull(expected)]
  return {
    name,
    workload,
    phase: readPhase(fields.phase) ?? null,
    started: numberOrNull(fields.started),
    seconds: numberOrNull(fields.seconds),
    time: readListedTime(asFields(fields.time)),
    pods: left === null || right === null ? null : { observed: left, expected: right },
    cores: readUsed(fields.cores),
    memory: readUsed(fields.memory),
    images: listOrNone(fields.images).flatMap((image) => asText(image) ?? []),
    finding: asText(fields.finding) ?? null,
  }
}

function readListedTime(time: Fields | undefined): ListedRun['time'] {
  return time === undefined ? null : readSpentTime(time)
}

function readUsed(value: unknown): UsedNumber {
  const { used, requested } = fieldsOrNone(value)
  return { used: numberOrNull(used), requested: numberOrNull(requested) }
}
