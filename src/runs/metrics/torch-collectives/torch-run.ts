import { type MetricStore, ofLogs } from '../../evidence/stores.ts'
import type { Sample } from '../../log/columns.ts'
import { numberIn, textIn } from '../../log/typed-cells.ts'

/** The metric whose rows describe collective calls of PyTorch. */
export const TORCH_METRIC = 'torch-collectives'

/** The section with the calls, and its key column with their numbers in the process group. */
const CALLS = 'collective'
const CALL_KEY = 'number'

/** The collective calls of PyTorch of all processes of a run, by log and process id. */
export type TorchRun = Map<string, TorchProcess>

/** A process with a process group. */
export interface TorchProcess {
  readonly source: string
  readonly node: string | null
  readonly pid: number
  /** The rank in the default process group; null if it is not known. */
  rank: number | null
  hasEnded: boolean
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
  /** Its last calls, by their numbers. */
  readonly calls: Map<number, TorchCall>
}

/** A call of a collective operation. */
export interface TorchCall {
  /** When the process made it, in seconds since 1970. */
  readonly called: number
  readonly operation: string
}

/** The most processes of a run, and process groups of a process. */
const MAX_PROCESSES = 100_000
export const MAX_GROUPS = 64

/** The most calls of a process group that are kept, and compared: the last. */
export const MAX_CALLS = 2000

/** Keeps the facts from the rows of torch-collectives. */
export const TORCH_STORE: MetricStore<TorchRun> = {
  metric: TORCH_METRIC,
  create: () => new Map(),
  add: addTorchRow,
  keepLogs: ofLogs,
  join: (all) => new Map(all.flatMap((run) => [...run])),
  isDetail: (section) => section === CALLS,
  numbered: { section: CALLS, key: CALL_KEY },
}

/** Adds a row of the metric torch-collectives. */
function addTorchRow(run: TorchRun, section: string, sample: Sample): void {
  const process = processOf(run, section, sample)
  if (process === undefined) return
  process.rank = numberIn(sample.world_rank) ?? process.rank
  process.hasEnded ||= section === 'process' && sample.state === 'ended'
  if (section === 'group') addGroup(process, sample)
  if (section === CALLS) addCall(process, sample)
}

/** A process that runs replaces one that has ended and had its process id. */
function processOf(run: TorchRun, section: string, sample: Sample): TorchProcess | undefined {
  const pid = numberIn(sample.pid)
  const source = sample.source ?? ''
  if (pid === null) return undefined
  const key = JSON.stringify([source, pid])
  const known = run.get(key)
  const isOther = known?.hasEnded === true && section === 'process' && sample.state !== 'ended'
  if (known === undefined ? run.size >= MAX_PROCESSES : !isOther) return known
  const node = sample.node ?? null
  const made = { source, node, pid, rank: null, hasEnded: false, groups: new Map() }
  run.set(key, made)
  return made
}

function groupOf({ groups }: TorchProcess, sample: Sample): TorchGroup | undefined {
  const name = textIn(sample.group)
  if (name === null) return undefined
  const known = groups.get(name)
  if (known !== undefined || groups.size >= MAX_GROUPS) return known
  const made = { name, description: '', size: null, members: '', calls: new Map() }
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
  const [number, called] = [numberIn(sample[CALL_KEY]), numberIn(sample.called)]
  if (group === undefined || number === null || called === null) return
  group.calls.set(number, { called, operation: textIn(sample.operation) ?? '' })
  const [oldest] = group.calls.keys()
  if (group.calls.size > MAX_CALLS && oldest !== undefined) group.calls.delete(oldest)
}
