import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'

const ROOT = '/sys/fs/cgroup'

/** The hierarchies in which tests make cgroups: three of version 1, and one of version 2. */
export type Hierarchy = 'cpu' | 'cpuacct' | 'memory' | 'unified'

/** A cgroup of this machine. */
export interface Cgroup {
  /** The directory of the cgroup. */
  readonly path: string
  /** A command of the shell that moves the shell into the cgroup. */
  readonly enter: string
  /** Reads a file of the cgroup. */
  read(file: string): string
  /** Reads the number of a key in a file such as cpu.stat. */
  readKey(file: string, key: string): number
}

/**
 * Returns the options of a test that makes cgroups in these hierarchies. If a hierarchy is not at
 * its usual place, the test is skipped with a message; with CI=true, it fails instead.
 */
export function withCgroups<Options extends { readonly skip: false | string }>(
  options: Options,
  ...hierarchies: readonly Hierarchy[]
): Options {
  const missing = hierarchies.filter((one) => !existsSync(join(ROOT, one, 'cgroup.procs')))
  if (options.skip !== false || missing.length === 0 || process.env.CI === 'true') return options
  const places = missing.map((one) => join(ROOT, one)).join(', ')
  return { ...options, skip: `this machine has no cgroups at ${places}` }
}

let made = 0

/**
 * Makes a cgroup, and removes it when the test ends. Call this function before the test starts its
 * pod: teardowns run in reverse order, and a cgroup can be removed only after its processes have
 * ended.
 *
 * @param settings the texts that are written to files of the new cgroup, by the name of the file
 */
export function makeCgroup(
  t: Test,
  hierarchy: Hierarchy,
  settings: Readonly<Record<string, string>> = {},
): Cgroup {
  made += 1
  const path = join(ROOT, hierarchy, `ridealong-test-${process.pid}-${made}`)
  mkdirSync(path)
  t.teardown(() => removeWhenEmpty(path))
  for (const [file, text] of Object.entries(settings)) writeFileSync(join(path, file), text)
  const read = (file: string) => readFileSync(join(path, file), 'utf8')
  return {
    path,
    enter: `echo 0 >${path}/cgroup.procs`,
    read,
    readKey: (file, key) => {
      const line = read(file).match(new RegExp(`^${key} (\\d+)$`, 'm'))
      return Number(line?.[1])
    },
  }
}

/**
 * Removes a cgroup when it has no processes. The processes end a moment after they were killed.
 *
 * @throws the error of the last attempt, after ten seconds
 */
async function removeWhenEmpty(path: string): Promise<void> {
  for (let left = 200; left > 0; left--) {
    try {
      rmdirSync(path)
      return
    } catch {
      await sleep(50)
    }
  }
  rmdirSync(path)
}
