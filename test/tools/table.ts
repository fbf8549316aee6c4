import { fileURLToPath } from 'node:url'
import { ENDS, endIn } from './ends.ts'

/** A program that runs with and without the tools. */
export interface Row {
  readonly name: string
  /** The command: `@NAME` is the path of a program of BUILDS. */
  readonly words: readonly string[]
  readonly input?: string
  /** The exit code, or the signal, without a tool. */
  readonly code: number | string
  /** Whether to check that the profiler has sampled the program. */
  readonly isSampled?: true
  readonly exception?: Exception
}

/** A tool that changes a program, and the line of docs/metrics/tools.md with the reason. */
export interface Exception {
  readonly tool: 'recorder' | 'profiler'
  readonly line: string
}

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const programSource = (name: string) => source(`programs/${name}`)
const GUEST = source('../observers/profile/guest.c')
const C = ['gcc', '-O1', '-w', '-pthread', '-o', 'OUT'] as const

/** The commands that build the programs; OUT is the path of the result. */
export const BUILDS: Readonly<Record<string, readonly string[]>> = {
  tasks: [...C, programSource('tasks.c')],
  static: [...C, '-static', programSource('tasks.c')],
  ends: [...C, programSource('ends.c')],
  asan: [...C, '-fsanitize=address', programSource('tasks.c')],
  ubsan: [...C, '-fsanitize=undefined', programSource('tasks.c')],
  guest: [...C, GUEST],
  musl: ['musl-gcc', '-w', '-o', 'OUT', source('../observers/profile/work.c')],
  exceptions: ['g++', '-O1', '-std=c++20', '-pthread', '-o', 'OUT', programSource('exceptions.cc')],
  rust: ['rustc', '-O', '-o', 'OUT', programSource('threads.rs')],
  go: ['env', 'CGO_ENABLED=0', 'go', 'build', '-o', 'OUT', programSource('routines.go')],
  cgo: ['env', 'CGO_ENABLED=1', 'go', 'build', '-o', 'OUT', programSource('calls.go')],
  java: ['javac', '-d', 'OUT', programSource('Work.java')],
  fortran: ['gfortran', '-O1', '-fopenmp', '-o', 'OUT', programSource('loops.f90')],
  openmpi: ['mpicc.openmpi', '-O1', '-o', 'OUT', programSource('ranks.c')],
  mpich: ['mpicc.mpich', '-O1', '-o', 'OUT', programSource('ranks.c')],
}

/** The packages of Debian with the programs that rows need. */
export const PACKAGES: Readonly<Record<string, string>> = {
  'dumb-init': 'dumb-init',
  gcc: 'gcc',
  gfortran: 'gfortran',
  go: 'golang',
  'g++': 'g++',
  java: 'default-jre-headless',
  javac: 'default-jdk-headless',
  'mpicc.mpich': 'libmpich-dev',
  'mpicc.openmpi': 'libopenmpi-dev',
  'mpirun.mpich': 'mpich',
  'mpirun.openmpi': 'openmpi-bin',
  'musl-gcc': 'musl-tools',
  perl: 'perl',
  python3: 'python3',
  rustc: 'rustc',
  tini: 'tini',
}

/** The packages that CI does not install. */
export const OPTIONAL = ['default-jdk-headless', 'default-jre-headless', 'perl']

const SHELL = `
trap 'echo trap' EXIT
read -r line && echo "$line"
i=0
while [ $i -lt 100000 ]; do i=$((i+1)); done
(exit 3) || echo "subshell $?"
sleep 0.1 & wait $! && echo waited
seq 1000 | sort -rn | head -n 2
echo error >&2
exec 5>&1; echo five >&5
exit 7`

const PERL = `
$SIG{USR1} = sub { print "signal\\n" };
my $end = times() + 0.8;
while (times() < $end) { $sum += $_ for 1 .. 10000 }
my $child = fork();
if ($child == 0) { exit 5 }
waitpid($child, 0);
print "child ", $? >> 8, "\\n";
kill "USR1", $$;
warn "warns\\n";
exit 6`

const CHROOT = 'd=$(mktemp -d); "$0" chroot "$d"; code=$?; ls -A "$d"; rmdir "$d" && exit "$code"'

const FILTER = {
  tool: 'profiler',
  line: `
- A program sets a filter of system calls that ends it (seccomp) by a system call of its own,
  without \`prctl\`, and then uses more than half a second of processor time.`,
} as const

const INTERRUPTED = {
  tool: 'profiler',
  line: `
- A program that takes an interrupted system call (EINTR) for an error; see
  [cpu-profile](cpu-profile.md).`,
} as const

const DEBUGGER = {
  tool: 'profiler',
  line: `
- A debugger or \`strace\` sees the signal SIGURG of each sample, and can print it or stop there.`,
} as const

const SANITIZER = {
  tool: 'recorder',
  line: `
| programs with the shared runtime of AddressSanitizer (\`-fsanitize=address\`), with mpi-trace`,
} as const

/** The ways in which the threads of ends.c end. */
const ends = Object.entries(ENDS).map(([way, code]) => {
  return { name: `a program that ends with its threads: ${way}`, words: endIn('@ends', way), code }
})

export const ROWS: readonly Row[] = [
  ...ends,
  { name: 'a shell', words: ['sh', '-c', SHELL], input: 'a line\n', code: 7 },
  { name: 'perl', words: ['perl', '-e', PERL], code: 6 },
  {
    name: 'stdbuf, which preloads a library itself',
    words: ['stdbuf', '-oL', 'sh', '-c', 'sort -n; exec "$0" burn 0.8', '@tasks'],
    input: '2\n1\n',
    code: 19,
  },
  { name: 'timeout', words: ['timeout', '0.9', '@tasks', 'burn', '60'], code: 124 },
  { name: 'an empty environment', words: ['env', '-i', '@tasks', 'burn', '0.8'], code: 19 },
  { name: 'a static program', words: ['@static', 'start'], code: 23 },
  { name: 'a program with musl', words: ['@musl', 'ratio', '700'], code: 3 },
  { name: 'Go', words: ['@go'], code: 32 },
  { name: 'Go with cgo', words: ['@cgo'], code: 33 },
  { name: 'Rust', words: ['@rust'], code: 31 },
  { name: 'Java', words: ['java', '-cp', '@java', 'Work'], code: 34 },
  {
    name: 'Node',
    words: [process.execPath, programSource('workers.mjs')],
    input: 'a line\n',
    code: 35,
  },
  {
    name: 'Python with multiprocessing',
    words: ['python3', programSource('pools.py'), 'fork', 'spawn'],
    input: 'a line\n',
    code: 36,
  },
  { name: 'Fortran with OpenMP', words: ['@fortran'], input: '6\n', code: 37 },
  { name: 'exceptions and coroutines of C++', words: ['@exceptions'], code: 30, isSampled: true },
  { name: 'an exception that is not caught', words: ['@exceptions', 'all'], code: 'SIGABRT' },
  { name: 'a coroutine with a small stack', words: ['@guest', 'coroutine', '8192'], code: 14 },
  { name: 'a thread with a small stack', words: ['@guest', 'thread'], code: 19, isSampled: true },
  { name: 'an early seccomp filter', words: ['@guest', 'restrict', 'early', '0.8'], code: 13 },
  { name: 'a late seccomp filter', words: ['@guest', 'restrict', 'late', '0.2'], code: 13 },
  {
    name: 'a seccomp filter without prctl',
    words: ['@tasks', 'filter'],
    code: 29,
    exception: FILTER,
  },
  { name: 'AddressSanitizer', words: ['@asan', 'burn', '0.8'], code: 19, exception: SANITIZER },
  { name: 'UndefinedBehaviorSanitizer', words: ['@ubsan', 'burn', '0.8'], code: 19 },
  {
    name: 'a small address space',
    words: ['sh', '-c', 'ulimit -v 12000; exec "$0" burn 0.8', '@tasks'],
    code: 19,
  },
  {
    name: 'small limits of files',
    words: ['sh', '-c', 'ulimit -n 4; ulimit -f 0; exec "$0" burn 0.8', '@tasks'],
    code: 19,
  },
  {
    name: 'a small limit of processor time',
    words: ['sh', '-c', 'ulimit -c 0; ulimit -S -t 1; exec "$0" burn 60', '@tasks'],
    code: 'SIGXCPU',
  },
  {
    name: 'the threads and the files of a process',
    words: ['@tasks', 'count'],
    code: 20,
    isSampled: true,
  },
  { name: 'files that replace all others', words: ['@tasks', 'files'], code: 21, isSampled: true },
  {
    name: 'standard files that are closed',
    words: ['sh', '-c', '"$0" burn 0.8 <&- >&- 2>&-; echo $?', '@tasks'],
    code: 0,
  },
  { name: 'chroot', words: ['sh', '-c', CHROOT, '@tasks'], code: 22 },
  { name: 'a daemon', words: ['@tasks', 'daemon'], code: 0 },
  {
    name: 'tini with a static child',
    words: ['tini', '-s', '--', '@static', 'burn', '0.8'],
    code: 19,
  },
  { name: 'tini with a child', words: ['tini', '-s', '--', '@tasks', 'burn', '0.8'], code: 19 },
  {
    name: 'dumb-init with a static child',
    words: ['dumb-init', '@static', 'burn', '0.8'],
    code: 19,
  },
  { name: 'dumb-init with a child', words: ['dumb-init', '@tasks', 'burn', '0.8'], code: 19 },
  { name: 'vfork, posix_spawn, system and popen', words: ['@tasks', 'start'], code: 23 },
  { name: 'fork', words: ['@tasks', 'fork'], code: 24, isSampled: true },
  { name: 'a tracer that passes on signals', words: ['@tasks', 'trace'], code: 25 },
  {
    name: 'a tracer that prints all',
    words: ['@tasks', 'trace', 'all'],
    code: 25,
    exception: DEBUGGER,
  },
  { name: 'a stack overflow that is handled', words: ['@tasks', 'overflow'], code: 26 },
  { name: 'a timer and a handler of SIGPROF', words: ['@tasks', 'timer'], code: 27 },
  { name: 'a thread that is cancelled', words: ['@tasks', 'cancel'], code: 28, isSampled: true },
  { name: 'SIGSEGV', words: ['@tasks', 'fail'], code: 'SIGSEGV' },
  { name: 'abort', words: ['@tasks', 'fail', 'abort'], code: 'SIGABRT' },
  { name: 'a handler of SIGURG', words: ['@guest', 'handle', 'sigaction'], code: 10 },
  { name: 'sigwait', words: ['@guest', 'wait-for', 'sigwait'], code: 11 },
  { name: 'signalfd', words: ['@guest', 'wait-for', 'signalfd'], code: 11 },
  {
    name: 'what a program knows of signals',
    words: ['@guest', 'query'],
    code: 12,
    isSampled: true,
  },
  {
    name: 'calls that are interrupted',
    words: ['@guest', 'idle'],
    code: 18,
    exception: INTERRUPTED,
  },
  {
    name: 'mpirun of Open MPI',
    words: ['mpirun.openmpi', '-n', '2', '@openmpi'],
    input: 'a line\n',
    code: 0,
  },
  {
    name: 'mpirun of MPICH',
    words: ['mpirun.mpich', '-n', '2', '@mpich'],
    input: 'a line\n',
    code: 0,
  },
  {
    name: 'mpirun with a program that does not use MPI',
    words: ['mpirun.mpich', '-n', '1', 'sh', '-c', 'cat; echo error >&2; exit 3'],
    input: 'a line\n',
    code: 3,
  },
]
