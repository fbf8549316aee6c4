import type { FrameTree } from './frame-tree.ts'
import {
  FUNCTION_FIELDS,
  type LogProfile,
  nameOf,
  type ProfileRun,
  type ProgramProfile,
  STACK_FIELDS,
  stacksIn,
} from './profile-run.ts'
import { isIdle, roleIn } from './python-waits.ts'

/**
 * Returns the profiles of a run, with profiles of their own for the helpers: processes of Python
 * that are no ranks, but of the same program. They are processes of multiprocessing, such as
 * workers of a data loader and of a pool; its servers; and launchers that wait for their ranks. The
 * time in which a worker of Ray has no task is there as well.
 *
 * A process is known by its stacks. A process of multiprocessing is a rank if a launcher of PyTorch
 * has started it, if it computes gradients, or if it takes part in a call of all ranks. Otherwise
 * its waiting would be mistaken for that of a rank.
 */
export function separateHelpers(run: ProfileRun): readonly ProgramProfile[] {
  const programs = Map.groupBy(run.values(), ({ executable }) => executable)
  return [...programs.values()].flatMap((profiles) => {
    const isHelper = findHelpers(profiles.filter(({ kind }) => kind in KINDS))
    return profiles.flatMap((profile) => {
      const { kind } = profile
      return kind === 'running' || kind === 'waiting' ? separate(profile, kind, isHelper) : profile
    })
  })
}

/** The kinds of time that are separated, and those of helpers. */
const KINDS = { running: 'helpers-running', waiting: 'helpers-waiting' } as const

type Role = ReturnType<typeof roleIn>
type IsHelper = (log: string, pid: number) => boolean

/** Finds the helpers of a program. @param profiles those of the program */
function findHelpers(profiles: readonly ProgramProfile[]): IsHelper {
  const found = new Map<string, Map<number, Role>>()
  for (const { tree, logs } of profiles) {
    const roles = rolesIn(tree)
    for (const [log, own] of logs) {
      const known = found.get(log) ?? new Map<number, Role>()
      found.set(log, known)
      addRoles(known, own, roles)
    }
  }
  return (log, pid) => found.get(log)?.get(pid) === 'helper'
}

/** Adds the roles of processes. One stack of a rank is enough. */
function addRoles(known: Map<number, Role>, log: LogProfile, roles: readonly Role[]): void {
  for (const [pid, frame] of stacksIn(log)) {
    const role = roles[frame]
    if (role !== undefined && known.get(pid) !== 'rank') known.set(pid, role)
  }
}

/**
 * Returns for each frame what its stack says about the process. The innermost function counts: a
 * process that was forked has the functions of its parent in its stacks.
 */
function rolesIn({ names, parents, functions }: FrameTree): readonly Role[] {
  const known = names.map(roleIn)
  // The number of a frame is greater than that of its parent.
  const roles: Role[] = []
  for (const [frame, parent] of parents.entries())
    roles.push(known[functions[frame] ?? -1] ?? roles[parent])
  return roles
}

/** Divides a profile into that of ranks and that of helpers, if there are any. */
function separate(
  profile: ProgramProfile,
  kind: keyof typeof KINDS,
  isHelper: IsHelper,
): readonly ProgramProfile[] {
  const { executable, tree } = profile
  const idle = new Set(tree.names.flatMap((name, at) => (isIdle({ frames: [name] }) ? at : [])))
  const isIdleFunction = profile.functions.map(({ name }) => isIdle({ frames: [name] }))
  const [own, helpers] = [new Map<string, LogProfile>(), new Map<string, LogProfile>()]
  for (const [log, all] of profile.logs) {
    const stacks = divide(all.stacks, STACK_FIELDS, (pid, frame) => {
      return isHelper(log, pid) || idle.has(tree.functions[frame] ?? -1)
    })
    const functions = divide(all.functions, FUNCTION_FIELDS, (pid, number) => {
      return isHelper(log, pid) || isIdleFunction[number] === true
    })
    const [ofRanks, ofHelpers] = [0, 1].map((at) => ({
      stacks: stacks[at] ?? [],
      functions: functions[at] ?? [],
      incomplete: at === 0 ? all.incomplete : [],
    })) as [LogProfile, LogProfile]
    const hasHelpers = hasTime(ofHelpers)
    if (hasHelpers) helpers.set(log, ofHelpers)
    if (hasTime(ofRanks) || !hasHelpers) own.set(log, ofRanks)
  }
  if (helpers.size === 0) return [profile]
  const other = { kind: KINDS[kind], program: nameOf(executable, KINDS[kind]), joined: 0 }
  const ofRanks = own.size === 0 ? [] : [{ ...profile, logs: own }]
  return [...ofRanks, { ...profile, ...other, logs: helpers }]
}

function hasTime({ stacks, functions }: LogProfile): boolean {
  return stacks.length + functions.length > 0
}

/** Divides groups of numbers. Those in the second array are set apart by their first numbers. */
function divide(
  fields: readonly number[],
  width: number,
  isApart: (pid: number, number: number) => boolean,
): readonly [number[], number[]] {
  const divided: [number[], number[]] = [[], []]
  for (let at = 0; at < fields.length; at += width) {
    const group = divided[isApart(fields[at] ?? 0, fields[at + 1] ?? 0) ? 1 : 0]
    for (let field = at; field < at + width; field++) group.push(fields[field] ?? 0)
  }
  return divided
}
