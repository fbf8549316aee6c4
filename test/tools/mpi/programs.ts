import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openFolder } from '../../observers/pod.ts'
import { observerTests, onPath } from '../../observers/prerequisites.ts'

const BUILD = fileURLToPath(new URL('../../../observer/mpi/build.sh', import.meta.url))
export const SOURCES = fileURLToPath(new URL('programs', import.meta.url))

/** The MPI libraries with which the recorder is tested. */
export const LIBRARIES = ['openmpi', 'mpich'] as const

export type Library = (typeof LIBRARIES)[number]

/** The recorder, and programs that use an MPI library. */
export interface Programs {
  readonly folder: string
  readonly recorder: string
  /** The program work.c, and the same program linked with nested.c. */
  readonly work: string
  readonly nested: string
  /** The words of a command that loads work.c from a library with RTLD_LOCAL. */
  readonly late: readonly string[]
  /** Programs in Fortran, with mpif.h and with the module mpi_f08. */
  readonly fortran: readonly [string, string]
  /** The programs bytes.c, handles.c, left.cc and null.c. */
  readonly bytes: string
  readonly handles: string
  readonly left: string
  readonly null: string
  /** The programs stuck.c and disagree.c. */
  readonly stuck: string
  readonly disagree: string
  /** The program shares.c, linked with sleeps.c. */
  readonly shares: string
  /** The program chroot.c, and the words that start lookup.c with the library. */
  readonly chroot: string
  readonly lookup: readonly string[]
  /** Libraries that observe MPI with PMPI_*, and with dlsym. */
  readonly tools: readonly [string, string]
}

/**
 * Returns the options of a test of the recorder. If the packages are not installed, the test is
 * skipped with a message; with CI=true, it fails instead.
 */
export function mpiTests(): { readonly skip: false | string } {
  const options = observerTests()
  if (process.env.CI === 'true' || options.skip !== false) return options
  const names = LIBRARIES.flatMap((library) => [`mpicc.${library}`, `mpirun.${library}`])
  const missing = [...names, 'gfortran', 'musl-gcc'].filter((name) => onPath(name) === name)
  if (missing.length === 0) return options
  const packages = 'gfortran, libmpich-dev, libopenmpi-dev, mpich, musl-tools and openmpi-bin'
  return { skip: `tests of mpi-trace need ${packages}; missing: ${missing.join(', ')}` }
}

/** The words that link a program in C with the functions for Fortran. */
const FORTRAN = { openmpi: ['-lmpi_usempif08', '-lmpi_mpifh'], mpich: ['-lmpichfort'] } as const

const made = new Map<Library, Programs>()

/** Builds the recorder and the programs. Further calls return the same files. */
export function programsFor(library: Library): Programs {
  const known = made.get(library)
  if (known !== undefined) return known
  const programs = build(library)
  made.set(library, programs)
  return programs
}

/**
 * Builds the recorder so that it reports accesses to memory that is not its own or not the
 * program's. Returns the libraries to preload.
 */
export function buildCheckedRecorder(folder: string): string {
  const path = join(folder, 'libridealong-mpi-checked.so')
  const flags = ['-std=c11', '-O1', '-g', '-fsanitize=address', '-nostdlib', '-ffreestanding']
  const more = ['-fno-builtin', '-fvisibility=hidden', '-fPIC', '-shared', '-o', path]
  execFileSync('gcc', [...flags, ...more, join(BUILD, '..', 'recorder.c')])
  const library = execFileSync('gcc', ['-print-file-name=libasan.so'], { encoding: 'utf8' })
  return `${library.trim()}:${path}`
}

/** Builds the recorder at this path. */
export function buildRecorder(path: string): void {
  execFileSync(BUILD, [process.arch === 'x64' ? 'amd64' : 'arm64', path])
}

function build(library: Library): Programs {
  const folder = openFolder('ridealong-mpi-')
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const at = (name: string) => join(folder, name)
  const compile = (compiler: string, source: string, name: string, ...flags: readonly string[]) => {
    const words = ['-O1', '-w', '-pthread', join(SOURCES, source), ...flags, '-o', at(name)]
    execFileSync(compiler, words, { cwd: folder })
    return at(name)
  }
  const [c, fortran] = [`mpicc.${library}`, `mpifort.${library}`]
  const shared = ['-shared', '-fPIC'] as const
  buildRecorder(at('libridealong-mpi.so'))
  const plugin = compile(c, 'work.c', 'plugin.so', ...shared, '-Dmain=work')
  compile(c, 'nested.c', 'libnested.so', ...shared, '-ldl')
  compile(c, 'sleeps.c', 'libsleeps.so', ...shared)
  return {
    folder,
    recorder: at('libridealong-mpi.so'),
    work: compile(c, 'work.c', 'work'),
    nested: compile(c, 'work.c', 'nested', `-L${folder}`, '-lnested', `-Wl,-rpath,${folder}`),
    late: [compile('gcc', 'late.c', 'late', '-ldl'), plugin],
    fortran: [
      compile(fortran, 'calls.f90', 'fortran'),
      compile(fortran, 'calls_f08.f90', 'fortran-f08'),
    ],
    bytes: compile(c, 'bytes.c', 'bytes'),
    handles: compile(c, 'handles.c', 'handles', ...FORTRAN[library]),
    left: compile(`mpicxx.${library}`, 'left.cc', 'left'),
    null: compile(c, 'null.c', 'null'),
    stuck: compile(c, 'stuck.c', 'stuck'),
    disagree: compile(c, 'disagree.c', 'disagree'),
    shares: compile(c, 'shares.c', 'shares', `-L${folder}`, '-lsleeps', `-Wl,-rpath,${folder}`),
    chroot: compile(c, 'chroot.c', 'chroot'),
    lookup: [compile('gcc', 'lookup.c', 'lookup', '-ldl'), libraryOf(at('bytes'))],
    tools: [
      compile(c, 'tool.c', 'tool.so', ...shared),
      compile(c, 'tool.c', 'tool-next.so', ...shared, '-DNEXT', '-ldl'),
    ],
  }
}

/** Returns the path of the MPI library with which a program is linked. */
export function libraryOf(program: string): string {
  const libraries = execFileSync('ldd', [program], { encoding: 'utf8' })
  return /libmpi\S* => (\S+)/.exec(libraries)?.[1] ?? ''
}

/** The variables with which root may start more processes than the machine has processors. */
export const MPI_ENV = {
  PATH: process.env.PATH,
  OMPI_ALLOW_RUN_AS_ROOT: '1',
  OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: '1',
  OMPI_MCA_rmaps_base_oversubscribe: '1',
  OMPI_MCA_mpi_yield_when_idle: '1',
}

/** Returns the variables that load the recorder of these programs. */
export function recording({ recorder }: Pick<Programs, 'recorder'>, results: string) {
  return { LD_PRELOAD: recorder, RIDEALONG_MPI_TRACE: results }
}

/** The end of a program. */
export interface Ended {
  /** The exit code, or the name of the signal. */
  readonly code: number | string
  readonly output: string
  readonly errors: string
}

/** Runs a program with this input, and kills it after three minutes, which is a failure. */
export function run(
  words: readonly string[],
  env: NodeJS.ProcessEnv = {},
  input = '',
  patienceMs = 180_000,
): Promise<Ended> {
  const [program = '', ...rest] = words
  const temporary = program.startsWith('mpirun') ? temporaryFolder() : undefined
  const own = { ...MPI_ENV, ...(temporary && { TMPDIR: temporary }), ...env }
  const child = spawn(program, rest, { env: own, stdio: 'pipe' })
  // A program may end before it has read the input.
  child.stdin.on('error', () => {}).end(input)
  const parts = { output: '', errors: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    parts.output += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    parts.errors += text
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), patienceMs)
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      clearTimeout(timer)
      if (temporary !== undefined) rmSync(temporary, { recursive: true, force: true })
      resolve({ code: code ?? signal ?? 'unknown', ...parts })
    })
  })
}

/**
 * Makes a temporary folder for a job. At its end, Open MPI removes a folder in the temporary one
 * that another job may just begin to use.
 */
export function temporaryFolder(): string {
  const folder = openFolder('ridealong-mpi-tmp-')
  chmodSync(folder, 0o1777)
  return folder
}

/** Returns the words that start a program in several processes. */
export function mpirun(library: Library, count: number, ...words: readonly string[]) {
  return [`mpirun.${library}`, '-n', String(count), ...words]
}
