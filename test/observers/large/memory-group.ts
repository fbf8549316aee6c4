import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { until } from '../../until.ts'

const V2 = '/sys/fs/cgroup'
const V1 = '/sys/fs/cgroup/memory'

/** A memory cgroup with a limit, like the memory cgroup of a container. */
export interface MemoryGroup {
  /** A shell command that moves the shell and the programs that it executes into the group. */
  readonly join: string
  /** A shell command that mounts the group at the place where a container sees its own cgroup. */
  readonly show: string
  /** Returns the highest memory use of the group, in bytes. */
  peak(): number
  /** Returns the number of processes that the kernel killed because of the limit. */
  kills(): number
}

/** Returns why tests with memory cgroups cannot run on this machine, or false if they can. */
export function reasonToSkipGroups(): false | string {
  const isThere = hasV1() || existsSync(join(V2, 'cgroup.controllers'))
  return isThere ? false : 'a memory cgroup is needed; none is mounted at /sys/fs/cgroup'
}

/** Creates a memory cgroup of version 1 or 2, and removes the cgroup when the test ends. */
export function memoryGroup(t: Test, limit: number): MemoryGroup {
  const group = createMemoryGroup(limit)
  t.teardown(group.remove)
  return group
}

/**
 * Creates a memory cgroup of version 1 or 2.
 *
 * @param limit the limit, in bytes
 */
export function createMemoryGroup(limit: number): MemoryGroup & { remove(): Promise<void> } {
  const name = `ridealong-test-${process.pid}-${Math.random().toString(36).slice(2, 8)}`
  const group = hasV1() ? groupOfV1(name, limit) : groupOfV2(name, limit)
  return {
    ...group,
    remove: () => until(`${group.folder} is removed`, () => isRemoved(group.folder)),
  }
}

function hasV1(): boolean {
  return existsSync(join(V1, 'memory.limit_in_bytes'))
}

function groupOfV1(name: string, limit: number): MemoryGroup & { readonly folder: string } {
  const folder = join(V1, name)
  mkdirSync(folder)
  writeFileSync(join(folder, 'memory.limit_in_bytes'), String(limit))
  return {
    folder,
    join: `echo $$ >${folder}/cgroup.procs`,
    show: `mount --bind ${folder} ${V1}`,
    peak: () => Number(readFileSync(join(folder, 'memory.max_usage_in_bytes'), 'utf8')),
    kills: () => killsIn(join(folder, 'memory.oom_control')),
  }
}

function groupOfV2(name: string, limit: number): MemoryGroup & { readonly folder: string } {
  const folder = join(V2, name)
  writeFileSync(join(V2, 'cgroup.subtree_control'), '+memory')
  mkdirSync(folder)
  writeFileSync(join(folder, 'memory.max'), String(limit))
  return {
    folder,
    join: `echo $$ >${folder}/cgroup.procs`,
    show: `mount --bind ${folder} ${V2}`,
    peak: () => Number(readFileSync(join(folder, 'memory.peak'), 'utf8')),
    kills: () => killsIn(join(folder, 'memory.events')),
  }
}

function killsIn(file: string): number {
  return Number(/^oom_kill (\d+)$/m.exec(readFileSync(file, 'utf8'))?.[1])
}

/** Tries to remove a group, and returns false if it still has processes. */
function isRemoved(folder: string): boolean {
  try {
    rmdirSync(folder)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error
    return false
  }
}
