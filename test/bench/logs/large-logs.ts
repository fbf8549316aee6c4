/** Generates large logs of observers, of the shapes that need the most memory in a report. */

/** A kind of log: the metric, and what there is much of. */
export interface LargeLog {
  readonly name: string
  /** Yields the lines of the log between its head and its end, without an end. */
  readonly lines: () => Generator<string>
  readonly metric: string
}

const BEGAN = Date.parse('2026-11-25T10:00:00Z')
const LIBRARY = 'Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, May 26, 2022'

/** Returns the line of a row, `index` timepoints of a second after the start of the log. */
const row = (timepoint: number, section: string, cells: Record<string, unknown>) =>
  JSON.stringify({ time: new Date(BEGAN + timepoint * 1000).toISOString(), section, ...cells })

const process = (pid: number) => ({ container: 'app', program: 'lmp', pid })

function mpiRank(timepoint: number, pid: number, size: number) {
  return row(timepoint, 'rank', {
    ...process(pid),
    mpi_rank: pid - 1,
    mpi_size: size,
    mpi_library: LIBRARY,
    job: '495517697',
    state: 'running',
    elapsed: timepoint + 1,
    mpi_seconds: (timepoint + 1) / (2 + (pid % 7)),
    calls: 2 * timepoint + 2,
    bytes: 512 * timepoint,
  })
}

function mpiCall(timepoint: number, pid: number, call: string, communicator: string, peer: string) {
  return row(timepoint, 'call', {
    ...process(pid),
    mpi_rank: pid - 1,
    call,
    communicator,
    mpi_peer: peer,
    calls: timepoint + 1,
    mpi_seconds: (timepoint + 1) / (3 + (pid % 11)),
    max_ms: 1.5,
    bytes: 512 * timepoint,
  })
}

/** The natural numbers. */
function* count(): Generator<number> {
  for (let number = 0; ; number++) yield number
}

function* mpiProcesses() {
  for (const index of count()) {
    const pid = index + 1
    yield mpiRank(0, pid, 1 << 20)
    yield mpiCall(0, pid, 'MPI_Allreduce', 'world', 'none')
  }
}

function* mpiTimepoints() {
  for (const timepoint of count())
    for (let pid = 1; pid <= 8; pid++) {
      yield mpiRank(timepoint, pid, 8)
      for (const call of ['MPI_Send', 'MPI_Recv', 'MPI_Wait'])
        yield mpiCall(timepoint, pid, call, 'world', '3')
      yield mpiCall(timepoint, pid, 'MPI_Allreduce', 'world', 'none')
    }
}

function* mpiPeers() {
  for (let pid = 1; pid <= 8; pid++) yield mpiRank(0, pid, 8)
  for (const peer of count())
    for (let pid = 1; pid <= 8; pid++) yield mpiCall(1, pid, 'MPI_Send', 'world', `${peer}`)
}

function* mpiCalls() {
  for (let pid = 1; pid <= 8; pid++) yield mpiRank(0, pid, 8)
  for (const number of count())
    for (let pid = 1; pid <= 8; pid++) yield mpiCall(1, pid, `MPI_Call_${number}`, 'world', 'none')
}

function* mpiCommunicators() {
  for (let pid = 1; pid <= 8; pid++) yield mpiRank(0, pid, 8)
  for (const number of count())
    for (let pid = 1; pid <= 8; pid++) {
      const of = { ...process(pid), mpi_rank: pid - 1, communicator: `8-90f192b8-${number}` }
      const mpi_seconds = 0.001 * pid
      yield row(1, 'communicator', { ...of, size: 8, collectives: 1, mpi_seconds })
      yield row(1, 'block', { ...of, first: 0, collectives: 1, mpi_seconds })
    }
}

function* mpiBlocks() {
  for (let pid = 1; pid <= 8; pid++) yield mpiRank(0, pid, 8)
  for (const number of count())
    for (let pid = 1; pid <= 8; pid++) {
      const of = { ...process(pid), mpi_rank: pid - 1, communicator: 'world' }
      yield row(1, 'block', { ...of, first: number, collectives: 1, mpi_seconds: 0.001 * pid })
    }
}

function* profileFunctions() {
  yield profiledProcess()
  for (const number of count())
    yield row(0, 'function', {
      ...process(1),
      function: `LAMMPS_NS::PairLJCut::compute_${number}`,
      library: 'lmp',
      samples_self: 1,
      samples_total: 2,
      self_seconds: 0.01,
      total_seconds: 0.02,
    })
}

function profiledProcess() {
  const cells = { samples: 5000, cpu_seconds: 50, frequency: 100, profile: 'complete' }
  return row(0, 'process', { ...process(1), ...cells })
}

function* profileStacks() {
  yield profiledProcess()
  for (const number of count()) {
    const stack = `main;LAMMPS_NS::Run::command;solve_${number % 997};compute_${number}`
    yield row(0, 'stack', { ...process(1), stack, samples: 1, cpu_seconds: 0.01 })
  }
}

function networkSocket(timepoint: number, peer: number) {
  return row(timepoint, 'socket', {
    ...process(1),
    peer: `10.${(peer >> 16) & 255}.${(peer >> 8) & 255}.${peer & 255}`,
    sockets: 1,
    send_queue: 0,
    receive_queue: 0,
    rtt: 0.12,
    bytes_sent: 1000 * timepoint,
    bytes_received: 2000 * timepoint,
    retransmitted: 0,
  })
}

function* networkPeers() {
  for (const peer of count()) yield networkSocket(peer >> 10, peer)
}

function* networkTimepoints() {
  for (const timepoint of count())
    for (let peer = 0; peer < 8; peer++) yield networkSocket(timepoint, peer)
}

/** Yields a timepoint of perf-sysstat with these processes. */
function* perfTimepoint(timepoint: number, pids: readonly number[]) {
  const time = Number(
    new Date(BEGAN + timepoint * 1000).toISOString().slice(11, 19).replaceAll(':', ''),
  )
  const task = (pid: number, cells: Record<string, unknown>) => ({
    time,
    uid: 0,
    pid,
    ...cells,
    command: 'lmp',
    container: 'app',
    program: 'lmp',
  })
  const table = (cells: Record<string, unknown>) =>
    JSON.stringify(pids.map((pid) => task(pid, cells)))
  const cpu = { percent_usr: 97.5, percent_system: 1.8, percent_guest: 0, percent_wait: 0.3 }
  yield 'METRICS OPERATOR TIMEPOINT'
  yield 'CPU STATISTICS TASK'
  yield table({ ...cpu, percent_cpu: 99.3, cpu: timepoint % 8 })
  yield 'CPU STATISTICS CHILD'
  yield table({ usr_ms: 990, system_ms: 20, guest_ms: 0 })
  yield 'IO STATISTICS'
  yield table({ kb_rd_s: 0, kb_wr_s: 59.5, kb_ccwr_s: 0, iodelay: null })
  yield 'POLICY'
  yield table({ prio: '0', policy: 'NORMAL' })
  yield 'PAGEFAULTS TASK'
  yield table({ minflt_s: 3.5, majflt_s: 0, vsz: 15_000, rss: 8300, percent_mem: 0.4 })
  yield 'PAGEFAULTS CHILD'
  yield table({ minflt_nr: 3, majflt_nr: 0 })
  yield 'STACK UTILIZATION'
  yield table({ stksize: 132, stkref: 12 })
  yield 'THREADS TASK'
  yield table({ threads: 4, fd_nr: 7 })
  yield 'TASK SWITCHING'
  yield table({ cswch_s: 12.5, nvcswch_s: 3.5 })
}

function* perfTimepoints() {
  const pids = Array.from({ length: 8 }, (_, index) => index + 1)
  for (const timepoint of count()) yield* perfTimepoint(timepoint, pids)
}

function* perfProcesses() {
  for (const timepoint of count()) {
    const pids = Array.from({ length: 64 }, (_, index) => timepoint * 64 + index + 1)
    yield* perfTimepoint(timepoint, pids)
  }
}

function pressureProcess(timepoint: number, pid: number) {
  return row(timepoint, 'process', {
    ...process(pid),
    run_delay: timepoint / 10,
    cpu_time: timepoint / 2,
    majflt: 0,
    cpu: 3,
  })
}

function* pressureTimepoints() {
  for (const timepoint of count())
    for (let pid = 1; pid <= 8; pid++) yield pressureProcess(timepoint, pid)
}

function* pressureProcesses() {
  for (const pid of count()) yield pressureProcess(pid >> 10, pid + 1)
}

function* pressurePrograms() {
  for (const number of count())
    yield row(number >> 10, 'process', {
      container: 'app',
      program: `program-${number}`,
      pid: number + 1,
      run_delay: 0.1,
      cpu_time: 0.5,
      majflt: 0,
      cpu: 3,
    })
}

/** Yields a call of a process in a process group, with the columns of torch-collectives. */
function torchCall(timepoint: number, pid: number, group: string, number: number) {
  return row(timepoint, 'collective', {
    ...process(pid),
    world_rank: pid - 1,
    group,
    number,
    operation: 'gloo:all_reduce',
    called: BEGAN / 1000 + number * 0.01,
    state: 'scheduled',
  })
}

/** Yields calls of eight processes, of which a report keeps the last ones. */
function* torchCalls() {
  for (const number of count())
    for (let pid = 1; pid <= 8; pid++) yield torchCall(number >> 5, pid, '0', number)
}

/** Yields processes with as many calls as a report keeps of each. */
function* torchProcesses() {
  for (const pid of count())
    for (let number = 0; number < 2000; number++) yield torchCall(pid, pid + 1, '0', number)
}

function* torchGroups() {
  for (const number of count()) yield torchCall(number >> 10, (number >> 6) + 1, `${number}`, 1)
}

/** Yields runs of an observer whose container is restarted again and again. */
function* restarts() {
  for (const number of count()) {
    yield pressureProcess(number, 1)
    yield 'METRICS OPERATOR COLLECTION END'
    yield `METADATA START ${JSON.stringify({ metricName: 'pressure', pods: number })}`
    yield 'METADATA END'
    yield 'METRICS OPERATOR COLLECTION START'
  }
}

/** The kinds of logs. */
export const LARGE_LOGS: readonly LargeLog[] = [
  { name: 'perf-sysstat, timepoints', metric: 'perf-sysstat', lines: perfTimepoints },
  { name: 'perf-sysstat, processes', metric: 'perf-sysstat', lines: perfProcesses },
  { name: 'pressure, timepoints', metric: 'pressure', lines: pressureTimepoints },
  { name: 'pressure, processes', metric: 'pressure', lines: pressureProcesses },
  { name: 'pressure, programs', metric: 'pressure', lines: pressurePrograms },
  { name: 'pressure, restarts', metric: 'pressure', lines: restarts },
  { name: 'network, timepoints', metric: 'network', lines: networkTimepoints },
  { name: 'network, peers', metric: 'network', lines: networkPeers },
  { name: 'torch-collectives, calls', metric: 'torch-collectives', lines: torchCalls },
  { name: 'torch-collectives, processes', metric: 'torch-collectives', lines: torchProcesses },
  { name: 'torch-collectives, groups', metric: 'torch-collectives', lines: torchGroups },
  { name: 'cpu-profile, functions', metric: 'cpu-profile', lines: profileFunctions },
  { name: 'cpu-profile, stacks', metric: 'cpu-profile', lines: profileStacks },
  { name: 'mpi-trace, timepoints', metric: 'mpi-trace', lines: mpiTimepoints },
  { name: 'mpi-trace, processes', metric: 'mpi-trace', lines: mpiProcesses },
  { name: 'mpi-trace, functions', metric: 'mpi-trace', lines: mpiCalls },
  { name: 'mpi-trace, peers', metric: 'mpi-trace', lines: mpiPeers },
  { name: 'mpi-trace, communicators', metric: 'mpi-trace', lines: mpiCommunicators },
  { name: 'mpi-trace, blocks', metric: 'mpi-trace', lines: mpiBlocks },
]

/** Yields the text of a log of at least this many bytes, in parts of about a mebibyte. */
export function* largeLog({ metric, lines }: LargeLog, bytes: number): Generator<string> {
  const metadata = {
    pods: 1,
    metricName: metric,
    metricOptions: { rate: 1 },
    pod: 'lammps-0-x7k2p',
    namespace: 'hpc',
    node: 'node-1',
    owner: 'Job/lammps',
    completionIndex: '0',
    container: 'app',
    started: new Date(BEGAN).toISOString(),
    counters: 'all',
  }
  let part = `METADATA START ${JSON.stringify(metadata)}\nMETADATA END\n`
  part += 'METRICS OPERATOR COLLECTION START\n'
  let written = 0
  for (const line of lines()) {
    part += `${line}\n`
    if (part.length < 1 << 20 && written + part.length < bytes) continue
    yield part
    written += part.length
    part = ''
    if (written >= bytes) break
  }
  yield 'METRICS OPERATOR COLLECTION END\nSUMMARY END\n'
}
