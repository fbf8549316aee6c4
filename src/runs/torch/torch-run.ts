import type { Sample } from '../log/columns.ts'
import { numberIn, textIn } from '../log/typed-cells.ts'

/** The metric whose rows describe collective calls of PyTorch. */
export const TORCH_METRIC = 'torch-collectives'

/** The collective calls of PyTorch of all processes of a run, by log and process id. */
export type TorchRun = Map<string, TorchProcess>

/** A process with a process group. */
export interface TorchProcess {
  readonly source: string
  readonly node: string | null
  readonly pid: number
  /** The rank in the default process group; null if it is not known. */
  rank: number | null
  /** The process groups by name. */
  readonly groups: Map<string, TorchGroup>
}

/** A process group, as one of its members knows it. */
export interface TorchGroup {
  readonly name: string
  description: string
  /** The number of members; null if it is not known. */
  size: number | null
  /** The ranks of the members, such as `0-7`. */
  members: string
  /** When the process made each call, in seconds since 1970, by the number of the call. */
  readonly called: Map<number, number>
  /** The operations of these calls. */
  readonly operations: Map<number, string>
}

/** The most processes of a run, process groups of a process, and calls of a group: the last. */
const MOST_PROCESSES = 100_000
const MOST_GROUPS = 64
const MOST_CALLS = 2000

export function newTorchRun(): TorchRun {
  return new Map()
}

/** Adds a row of the metric torch-collectives; does nothing with rows of other metrics. */
export function addTorchRow(run: TorchRun, section: string, sample: Sample): void {
  if (sample.metric !== TORCH_METRIC) return
  const process = processOf(run, sample)
  if (process === undefined) return
  process.rank = numberIn(sample.world_rank) ?? process.rank
  if (section === 'group') addGroup(process, sample)
  if (section === 'collective') addCall(process, sample)
}

/** Reports whether the rows of a section are calls, which the report does not show one by one. */
export function isTorchCall(metric: string, section: string): boolean {
  return metric === TORCH_METRIC && section === 'collective'
}

function processOf(run: TorchRun, sample: Sample): TorchProcess | undefined {
  const pid = numberIn(sample.pid)
  const source = sample.source ?? ''
  if (pid === null) return undefined
  const key = JSON.stringify([source, pid])
  const known = run.get(key)
  if (known !== undefined || run.size >= MOST_PROCESSES) return known
  const made = { source, node: sample.node ?? null, pid, rank: null, groups: new Map() }
  run.set(key, made)
  return made
}

function groupOf({ groups }: TorchProcess, sample: Sample): TorchGroup | undefined {
  const name = textIn(sample.group)
  if (name === null) return undefined
  const known = groups.get(name)
  if (known !== undefined || groups.size >= MOST_GROUPS) return known
  const calls = { called: new Map(), operations: new Map() }
  const made = { name, description: '', size: null, members: '', ...calls }
  groups.set(name, made)
  return made
}

function addGroup(process: TorchProcess, sample: Sample): void {
  const group = groupOf(process, sample)
  if (group === undefined) return
  group.description = textIn(sample.description) ?? ''
  group.size = numberIn(sample.size)
  group.members = textIn(sample.members) ?? ''
}

function addCall(process: TorchProcess, sample: Sample): void {
  const group = groupOf(process, sample)
  const [number, called] = [numberIn(sample.number), numberIn(sample.called)]
  if (group === undefined || number === null || called === null) return
  group.called.set(number, called)
  group.operations.set(number, textIn(sample.operation) ?? '')
  const [oldest] = group.called.keys()
  if (group.called.size <= MOST_CALLS || oldest === undefined) return
  group.called.delete(oldest)
  group.operations.delete(oldest)
}
