/** `npm run test:cpython` runs CPython's own tests with and without python-profile. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DOMParser } from '@xmldom/xmldom'
import { Command } from 'commander'
import { openFolder } from '../../observers/pod.ts'
import { run } from '../mpi/programs.ts'
import { sampling } from '../python/sampler.ts'
import { compareOutcomes, type Outcomes } from './outcomes.ts'

const say = (line: string) => process.stdout.write(`${line}\n`)

/**
 * The tests about threads, processes, signals, descriptors, sockets, asyncio, tracing and the
 * interfaces for C. A version of CPython does not have all of them.
 */
const MODULES = `
  test__interpreters test__osx_support test__xxsubinterpreters test_asyncio test_atexit test_capi
  test_cmd_line test_code test_concurrent_futures test_context test_contextlib_async
  test_coroutines test_cprofile test_ctypes test_embed test_epoll test_eventfd test_exceptions
  test_faulthandler test_fcntl test_file test_fileio test_fork1 test_frame test_ftplib test_gc
  test_generators test_httplib test_httpservers test_import test_importlib test_interpreters
  test_io test_ioctl test_kqueue test_largefile test_mmap test_monitoring
  test_multiprocessing_fork test_multiprocessing_forkserver test_multiprocessing_main_handling
  test_multiprocessing_spawn test_openpty test_os test_pdb test_perf_profiler test_poll test_popen
  test_posix test_profile test_pty test_queue test_regrtest test_resource test_sched test_select
  test_selectors test_signal test_socket test_socketserver test_ssl test_subprocess test_support
  test_sys test_sys_setprofile test_sys_settrace test_sysconfig test_tempfile test_thread
  test_thread_local_bytecode test_threadedtempfile test_threading test_threading_local
  test_threadsignals test_time test_timeout test_trace test_traceback test_tracemalloc test_venv
  test_wait3 test_wait4 test_weakref test_zipapp
`
  .trim()
  .split(/\s+/)

/** The most runs without the sampler of a file whose tests end otherwise with it. */
const MAX_RUNS = 6

interface Options {
  readonly frequency: number
  readonly seconds: number
}

new Command('test:cpython')
  .description(
    'runs the tests that a CPython has of itself once as they are and once with the sampler of ' +
      'python-profile. Each test must have the same outcome. If it differs, further runs without ' +
      'the sampler show whether the test varies by itself',
  )
  .argument('<python>', 'the path of a CPython with its module `test`')
  .argument('[names...]', 'test files, such as test_threading', MODULES)
  .option('--frequency <n>', 'samples per second', Number, 1000)
  .option('--seconds <n>', 'the time after which a test file is killed', Number, 900)
  .addHelpText(
    'after',
    '\nExit code: 0 if the sampler changed no outcome, otherwise 1.' +
      '\n\nExample:\n  npm run test:cpython -- /usr/bin/python3.11 test_threading test_signal',
  )
  .action(async (python: string, names: readonly string[], options: Options) => {
    process.exitCode = (await runSuite(python, names, options)) ? 0 : 1
  })
  .parse()

/** Runs test files. Returns whether the sampler changed no outcome. */
async function runSuite(
  python: string,
  names: readonly string[],
  options: Options,
): Promise<boolean> {
  const ask = 'import os, test; print(os.path.dirname(test.__file__))'
  const folder = execFileSync(python, ['-c', ask], { encoding: 'utf8' }).trim()
  const isThere = (name: string) => ['', '.py'].some((end) => existsSync(join(folder, name + end)))
  let [tests, varying, differing] = [0, 0, 0]
  for (const name of names.filter(isThere)) {
    const { equal, varies, differs } = await judge(python, name, options)
    tests += equal + varies.length + differs.length
    varying += varies.length
    differing += differs.length
    const lines = [
      ...varies.map((one) => `varies: ${one}`),
      ...differs.map((one) => `DIFFERS: ${one}`),
    ]
    say([`${name}: ${equal} equal`, ...lines].join('\n  '))
  }
  say(`tests: ${tests}, vary by themselves: ${varying}, differ: ${differing}`)
  return differing === 0 && tests > 0
}

/** Runs a test file with the sampler, and without it until no outcome is left that differs. */
async function judge(python: string, name: string, { frequency, seconds }: Options) {
  const plain = [await runTests(python, name, {}, seconds)]
  const sampled = await runTests(python, name, sampling(frequency), seconds)
  let compared = compareOutcomes(plain, sampled)
  while (compared.differs.length > 0 && plain.length < MAX_RUNS) {
    plain.push(await runTests(python, name, {}, seconds))
    compared = compareOutcomes(plain, sampled)
  }
  return compared
}

/** Runs the tests of a file, and returns the outcome of each, and that of the file. */
async function runTests(
  python: string,
  name: string,
  env: NodeJS.ProcessEnv,
  seconds: number,
): Promise<Outcomes> {
  const folder = openFolder('ridealong-cpython-')
  const path = join(folder, 'outcomes.xml')
  const words = [python, '-m', 'test', '--junit-xml', path, '--tempdir', folder, name]
  const own = { ...env, HOME: folder, TMPDIR: folder, LANG: 'C.UTF-8' }
  const limited = ['timeout', '--kill-after=2', String(seconds), ...words]
  const { code } = await run(limited, own, '', 1000 * (seconds + 60))
  const outcomes = existsSync(path) ? readOutcomes(readFileSync(path, 'utf8')) : []
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  return new Map([...outcomes, [`the file ${name}`, `exit code ${code}`]])
}

/** Reads the outcomes that a file of JUnit's format has of its tests. */
function readOutcomes(xml: string): readonly (readonly [string, string])[] {
  const cases = new DOMParser().parseFromString(xml, 'text/xml').getElementsByTagName('testcase')
  return [...cases].map((one) => {
    const bad = ['failure', 'error', 'skipped'].filter(
      (kind) => one.getElementsByTagName(kind).length > 0,
    )
    return [one.getAttribute('name') ?? '', bad.join(' and ') || 'passed'] as const
  })
}
