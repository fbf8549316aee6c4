import { nameFirst } from '../../core/text/name-first.ts'
import { formatList } from '../../lib/format-list.ts'
import type { FrameTree } from '../profiles/frame-tree.ts'
import { separateHelpers } from '../profiles/helper-processes.ts'
import {
  type LogProfile,
  type ProfileKind,
  type ProgramProfile,
  stacksIn,
} from '../profiles/profile-run.ts'
import type { ChosenRun } from '../report/assess.ts'

/** The stacks of one kind of all processes of a program in a pod. */
export interface StacksOfPod {
  readonly pod: string
  /** The name of the program, and the kind of the time if it is not processor time. */
  readonly program: string
  readonly kind: ProfileKind
  /** The stacks of the program in all pods. */
  readonly tree: FrameTree
  /** The seconds of each stack of the pod, by the innermost frame. */
  readonly seconds: ReadonlyMap<number, number>
}

/**
 * Returns the stacks by pod and program. The pods are in the order of the run, and so are the
 * programs of a pod. Stacks without time are left out.
 */
export function listStacksOfPods({ run, podOf, pods }: ChosenRun): readonly StacksOfPod[] {
  const places = new Map(pods.map((pod, index) => [pod, index]))
  const placeOf = ({ pod }: StacksOfPod) => places.get(pod) ?? pods.length
  return separateHelpers(run.evidence.profiles)
    .flatMap((profile) => stacksByPod(profile, podOf))
    .filter(({ seconds }) => seconds.size > 0)
    .sort((a, b) => placeOf(a) - placeOf(b))
}

function stacksByPod(
  { program, kind, tree, logs }: ProgramProfile,
  podOf: (source: string) => string,
): readonly StacksOfPod[] {
  const byPod = Map.groupBy(logs, ([source]) => podOf(source))
  return [...byPod].map(([pod, own]) => {
    const seconds = new Map<number, number>()
    for (const [, log] of own) addTimes(seconds, log)
    return { pod, program, kind, tree, seconds }
  })
}

function addTimes(seconds: Map<number, number>, log: LogProfile): void {
  for (const [, frame, time] of stacksIn(log))
    if (time > 0) seconds.set(frame, (seconds.get(frame) ?? 0) + time)
}

/** Returns the numbers of the functions of a stack in `FrameTree.names`, the outermost first. */
export function functionsOf({ parents, functions }: FrameTree, frame: number): readonly number[] {
  const found: number[] = []
  for (let at = frame; at > 0; at = parents[at] ?? 0) found.push(functions[at] ?? 0)
  return found.reverse()
}

/** Returns a notice about the processes whose profile is incomplete or missing. */
export function incompleteNotices({ run, podOf }: ChosenRun): readonly string[] {
  const processes = [...run.evidence.profiles.values()].flatMap(({ logs }) =>
    [...logs].flatMap(([source, { incomplete }]) =>
      incomplete.map((process) => `${process} of pod ${podOf(source)}`),
    ),
  )
  if (processes.length === 0) return []
  return [`Not all stacks of these processes are known: ${nameFirst(processes)}.`]
}

/** Returns a sentence that names the metrics whose rows are stacks. */
export function missingStacks({ run: { descriptions } }: ChosenRun): string {
  const metrics = [...descriptions].flatMap(([metric, { sections }]) =>
    sections.some(({ of }) => of === 'stack') ? metric : [],
  )
  const needed = metrics.length === 0 ? 'a metric whose rows are stacks' : formatList(metrics, 'or')
  return `no stacks of functions were collected; observe the run with ${needed}`
}
