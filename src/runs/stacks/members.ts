import type { AskedProcess, AskedThread, PodStacks } from './pod-stacks.ts'

/** A pod of the workload, and its answer. */
export interface AskedPod {
  readonly pod: string
  /** The index or role of the pod in its workload; null if it is not known. */
  readonly pod_index: string | null
  /** The processes; or why the pod has not answered, as a clause. */
  readonly answer: PodStacks | { readonly why: string }
}

/** A thread of a process, or a pod that has not answered. */
export interface StackMember {
  /**
   * What texts call it: the rank of the process; otherwise the index of the pod or its name, and
   * the process if it has several.
   */
  readonly label: string
  /** The MPI rank, or the rank that another launcher has given to the process; null without one. */
  readonly rank: number | null
  readonly pod: string
  readonly pod_index: string | null
  readonly process: Pick<AskedProcess, 'pid' | 'program' | 'container'> | undefined
  readonly thread: AskedThread | undefined
  /** Why there is neither a stack nor a call; undefined if the pod has answered. */
  readonly why: string | undefined
}

/** The members, and the processes that are not shown. */
export interface Members {
  readonly members: readonly StackMember[]
  /** Processes without a rank, and those that only wait for a process of the same rank. */
  readonly hidden: number
  /** Processes and threads that the observers have left out, because there were too many. */
  readonly leftOut: number
}

/** What to show. */
export interface MemberOptions {
  /** Whether processes without a rank are shown although others have one. */
  readonly all: boolean
}

/**
 * Lists the threads of the ranks: of the processes to which a launcher has given a rank or, if
 * there are none, of all processes. A shell that waits for the program of its rank is not shown,
 * and nor are processes that the program has started, such as workers of a data loader.
 */
export function listMembers(pods: readonly AskedPod[], { all }: MemberOptions): Members {
  const answered = pods.flatMap(({ answer, ...place }) =>
    'why' in answer ? [] : [{ ...place, answer }],
  )
  const hasRanks = answered.some(({ answer }) => answer.processes.some(({ rank }) => rank !== null))
  const isListed = ({ rank }: AskedProcess) => all || !hasRanks || rank !== null
  const shown = answered.map(({ answer: { processes }, ...place }) => {
    const listed = processes.filter(isListed)
    return { ...place, listed, processes: all ? listed : representatives(listed) }
  })
  const members = shown.flatMap(({ pod, pod_index, processes }) =>
    processes.flatMap(({ rank, threads, pid, program, container }) => {
      const name = pod_index ?? pod
      const own = processes.length === 1 ? name : `${name}/${pid}`
      const place = { label: rank === null ? own : `${rank}`, rank, pod, pod_index }
      return threads.map((thread): StackMember => {
        return { ...place, process: { pid, program, container }, thread, why: undefined }
      })
    }),
  )
  const silent = pods.flatMap(({ pod, pod_index, answer }): readonly StackMember[] => {
    if (!('why' in answer)) return []
    const place = { label: pod_index ?? pod, rank: null, pod, pod_index }
    return [{ ...place, process: undefined, thread: undefined, why: answer.why }]
  })
  const found = answered.flatMap(({ answer }) => answer.processes)
  const kept = shown.reduce((sum, { processes }) => sum + processes.length, 0)
  return {
    members: [...members, ...silent],
    hidden: found.length - kept,
    leftOut:
      answered.reduce((sum, { answer }) => sum + answer.processesLeftOut, 0) +
      found.reduce((sum, { threadsLeftOut }) => sum + threadsLeftOut, 0),
  }
}

/** Returns the processes of a pod without those that others of the same rank stand for. */
function representatives(processes: readonly AskedProcess[]): readonly AskedProcess[] {
  const byPid = new Map(processes.map((process) => [process.pid, process]))
  const isOfRank = (process: AskedProcess, other: AskedProcess) => process.rank === other.rank
  const parents = new Set(
    processes.flatMap((process) => {
      const parent = process.parent === null ? undefined : byPid.get(process.parent)
      return parent !== undefined && isOfRank(process, parent) ? [parent.pid] : []
    }),
  )
  const onlyWaits = ({ pid, threads }: AskedProcess) =>
    parents.has(pid) && threads[0]?.call === 'wait'
  const working = processes.filter((process) => !onlyWaits(process))
  const isHelper = descendantFinder(working, byPid)
  return working.filter((process) => process.rank === null || !isHelper(process))
}

/**
 * Returns a function that reports whether a process has an ancestor of its rank among the working
 * ones. A hostile pod could report a long chain of parents, or a circle, so each process is
 * followed once: what is known of its parent says what is to be known of it.
 */
function descendantFinder(
  working: readonly AskedProcess[],
  byPid: ReadonlyMap<number, AskedProcess>,
): (process: AskedProcess) => boolean {
  const ranked = new Set(working.filter(({ rank }) => rank !== null))
  const nearest = new Map<AskedProcess, AskedProcess | undefined>()
  /** Returns the parent, unless it works and has a rank, or was passed before. */
  const openParent = (process: AskedProcess): AskedProcess | undefined => {
    const parent = byPid.get(process.parent ?? 0)
    return parent && (ranked.has(parent) || nearest.has(parent)) ? undefined : parent
  }
  /** Returns the nearest ancestor that works and has a rank. */
  const above = (process: AskedProcess): AskedProcess | undefined => {
    const passed = chainFrom(process, openParent)
    const last = passed.at(-1) ?? process
    const parent = byPid.get(last.parent ?? 0)
    const found = parent && (ranked.has(parent) ? parent : nearest.get(parent))
    for (const one of passed) nearest.set(one, found)
    return found
  }
  return (process) => above(process)?.rank === process.rank
}

/** Returns a process and those that follow it, until there is none, or one is there already. */
function chainFrom(
  process: AskedProcess,
  next: (process: AskedProcess) => AskedProcess | undefined,
): readonly AskedProcess[] {
  const passed = new Set<AskedProcess>()
  let at: AskedProcess | undefined = process
  while (at !== undefined && !passed.has(at)) {
    passed.add(at)
    at = next(at)
  }
  return [...passed]
}
