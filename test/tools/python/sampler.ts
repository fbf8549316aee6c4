import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CACHE } from '../../cluster/machine/tools.ts'
import { openFolder } from '../../observers/pod.ts'
import { observerTests, onPath } from '../../observers/prerequisites.ts'

/** The script that builds the sampler. */
export const BUILD = fileURLToPath(new URL('../../../observer/python/build.sh', import.meta.url))
const PROGRAMS = fileURLToPath(new URL('programs', import.meta.url))

/** The options of a test that runs programs with the sampler. */
export const pythonTests = observerTests

/** A CPython of this machine. */
export interface Python {
  /** Such as 3.12. */
  readonly version: string
  readonly path: string
}

let built: string | undefined

/** Builds the sampler. Further calls return the same path. */
export function sampler(): string {
  if (built !== undefined) return built
  const folder = openFolder('ridealong-python-')
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(folder, { recursive: true })
  built = join(folder, 'libridealong-python.so')
  execFileSync(BUILD, [process.arch === 'x64' ? 'amd64' : 'arm64', built])
  return built
}

/** Returns the path of a program in Python of these tests. */
export const program = (name: string) => join(PROGRAMS, name)

/** The variables that load the sampler. */
export const sampling = (frequency = 100) => {
  return { LD_PRELOAD: sampler(), RIDEALONG_PYTHON_FREQUENCY: String(frequency) }
}

/** The versions that can be sampled, from 3.9 on. */
const MINORS = [9, 10, 11, 12, 13, 14, 15]

/** The folders of python3.N; install-new.sh fills the last one. */
const BINS = ['/usr/bin', '/usr/local/bin', join(CACHE, 'debian-sid', 'usr', 'bin')]

/**
 * Finds the CPython versions of the machine, one of each minor version: those of pyenv, and the
 * programs python3.N on the path and in the folder of install-new.sh.
 */
export function pythons(): readonly Python[] {
  const folder = join(homedir(), '.pyenv', 'versions')
  const installed = existsSync(folder) ? readdirSync(folder) : []
  return MINORS.flatMap((minor) => {
    const version = `3.${minor}`
    const kept = installed.filter((name) => new RegExp(`^3\\.${minor}\\.\\d+$`).test(name))
    const inPyenv = kept.map((name) => join(folder, name, 'bin', `python${version}`))
    const inFolders = BINS.map((bin) => join(bin, `python${version}`))
    const found = [...inPyenv, ...inFolders].filter((path) => existsSync(path))
    return found.slice(0, 1).map((path) => ({ version, path }))
  })
}

/** The python3 of the system. */
export const systemPython = () => onPath('/usr/bin/python3')
