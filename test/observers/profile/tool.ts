import { execFileSync } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openFolder } from '../pod.ts'
import { observerTests, onPath } from '../prerequisites.ts'

const BUILD = fileURLToPath(new URL('../../../observer/loader/build.sh', import.meta.url))
const WORK = fileURLToPath(new URL('work.c', import.meta.url))
const MACHINE = process.arch === 'x64' ? 'x86_64' : 'aarch64'
const LIBRARY = `/usr/lib/${MACHINE}-linux-gnu/libprofiler.so.0`

/** The files of the tests: the tool as in the image of cpu-profile, and programs to profile. */
export interface Tool {
  /** The folder that the installer copies. */
  readonly source: string
  /** The program work.c, and the same program linked with musl and statically. */
  readonly work: string
  readonly workWithMusl: string
  readonly workStatic: string
}

/**
 * Returns the options of a test of cpu-profile. If the packages are not installed, the test is
 * skipped with a message; with CI=true, it fails instead.
 */
export function profileTests(): { readonly skip: false | string } {
  const options = observerTests()
  if (process.env.CI === 'true' || options.skip !== false) return options
  const programs = ['patchelf', 'musl-gcc', 'google-pprof'].filter((name) => onPath(name) === name)
  const missing = existsSync(LIBRARY) ? programs : ['libprofiler.so.0', ...programs]
  if (missing.length === 0) return options
  const packages = 'libgoogle-perftools4, google-perftools, musl-tools and patchelf'
  return { skip: `tests of cpu-profile need ${packages}; missing: ${missing.join(', ')}` }
}

let made: Tool | undefined

/** Builds the tool and the programs. Further calls return the same files. */
export function tool(): Tool {
  made ??= makeTool()
  return made
}

function makeTool(): Tool {
  const folder = openFolder('ridealong-profile-')
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const source = join(folder, 'tool')
  execFileSync(BUILD, [source])
  const compile = (compiler: string, name: string, flags: readonly string[]) => {
    const path = join(folder, name)
    execFileSync(compiler, ['-O1', '-pthread', ...flags, '-o', path, WORK])
    return path
  }
  return {
    source,
    work: compile('gcc', 'work', []),
    workWithMusl: compile('musl-gcc', 'work-with-musl', []),
    workStatic: compile('gcc', 'work-static', ['-static']),
  }
}
