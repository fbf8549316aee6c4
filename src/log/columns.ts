/** The type of a column, and its meaning with the unit, for readers and for the documentation. */
export interface Column {
  readonly type: 'text' | 'number'
  readonly meaning: string
}

const text = (meaning: string) => ({ type: 'text', meaning }) as const
const number = (meaning: string) => ({ type: 'number', meaning }) as const

/** The columns of every sample, for the place and the time of the sample. */
export const PLACE_COLUMNS = {
  kind: text('process, thread or device'),
  source: text('the log: NAMESPACE/POD/CONTAINER, or the name of a file'),
  metric: text('perf-sysstat or io-sysstat'),
  namespace: text('the namespace of the pod'),
  pod: text('the pod'),
  node: text('the node of the pod'),
  rank: text('the number of the pod in its workload: the completion index, or a similar number'),
  timepoint: number('the number of the sample in its log, from 0'),
  time: text('when the sample was taken: UTC, or only the time of day if the log has no date'),
  seconds: number('seconds since the first timepoint of the log'),
  interval: number(
    'the length of time that the sample covers, in seconds; ' +
      'empty for averages since the node started',
  ),
} as const satisfies Record<string, Column>

/**
 * The columns that pidstat reports for a process or a thread, and the columns `container` and
 * `program` of the observer. The names are those of jc, with which the Metrics Operator converts
 * the output of pidstat to JSON.
 */
export const PROCESS_COLUMNS = {
  container: text('the container of the process'),
  program: text('the name of the program'),
  pid: number('process id, in the process namespace of the pod'),
  tid: number('thread id; empty for a process'),
  uid: number('user id'),
  percent_usr: number('% of a core, in the program itself'),
  percent_system: number('% of a core, in the kernel'),
  percent_guest: number('% of a core, in a virtual machine'),
  percent_wait: number('% of the interval spent waiting to run'),
  percent_cpu: number('% of a core, in total'),
  cpu: number('the core on which the process or thread last ran'),
  usr_ms: number('milliseconds in the program itself, including children that have ended'),
  system_ms: number('milliseconds in the kernel, including children that have ended'),
  guest_ms: number('milliseconds in a virtual machine, including children that have ended'),
  kb_rd_s: number('KiB/s that the process read from storage'),
  kb_wr_s: number('KiB/s that the process wrote to storage'),
  kb_ccwr_s: number('KiB/s of cancelled writes, for example after a file was truncated'),
  iodelay: number('clock ticks of delay by block I/O'),
  prio: number('real-time priority'),
  policy: text('scheduling policy'),
  minflt_s: number('minor page faults/s'),
  majflt_s: number('major page faults/s'),
  vsz: number('KiB of virtual memory'),
  rss: number('KiB of resident memory'),
  percent_mem: number('resident memory, % of the memory of the node'),
  minflt_nr: number('minor page faults, including children that have ended'),
  majflt_nr: number('major page faults, including children that have ended'),
  stksize: number('KiB of stack'),
  stkref: number('KiB of stack in use'),
  threads: number('number of threads'),
  fd_nr: number('number of open file descriptors'),
  cswch_s: number('voluntary context switches/s'),
  nvcswch_s: number('involuntary context switches/s'),
} as const satisfies Record<string, Column>

/**
 * The columns that iostat reports for a block device of the node. The names are those of iostat in
 * lower case, with _ for / and -, and without %.
 */
export const DEVICE_COLUMNS = {
  device: text('a block device of the node, which all pods of the node share'),
  r_s: number('reads/s'),
  w_s: number('writes/s'),
  d_s: number('discards/s'),
  f_s: number('flushes/s'),
  rmb_s: number('MB/s read'),
  wmb_s: number('MB/s written'),
  dmb_s: number('MB/s discarded'),
  rrqm_s: number('reads merged/s'),
  wrqm_s: number('writes merged/s'),
  drqm_s: number('discards merged/s'),
  rrqm: number('% of reads merged'),
  wrqm: number('% of writes merged'),
  drqm: number('% of discards merged'),
  r_await: number('average milliseconds for a read'),
  w_await: number('average milliseconds for a write'),
  d_await: number('average milliseconds for a discard'),
  f_await: number('average milliseconds for a flush'),
  rareq_sz: number('average size of a read, in KiB'),
  wareq_sz: number('average size of a write, in KiB'),
  dareq_sz: number('average size of a discard, in KiB'),
  aqu_sz: number('average number of requests in the queue'),
  util: number('% of the interval during which the device had requests'),
} as const satisfies Record<string, Column>

/**
 * All columns, in the order of the CSV. The order never changes; new columns are added at the end.
 */
export const COLUMNS: Readonly<Record<string, Column>> = {
  ...PLACE_COLUMNS,
  ...PROCESS_COLUMNS,
  ...DEVICE_COLUMNS,
}

/** The value of a cell. Null means that the value is unknown or does not exist, never zero. */
export type Cell = string | number | null

type Cells<Columns extends Record<string, Column>> = {
  readonly [Name in keyof Columns]: Columns[Name]['type'] extends 'number'
    ? number | null
    : string | null
}

/** The origin of a log; unknown fields are null. */
export type RowOrigin = Omit<Cells<typeof PLACE_COLUMNS>, 'kind' | keyof Moment>

/** The time of a timepoint. */
export interface Moment {
  readonly timepoint: number
  readonly time: string | null
  readonly seconds: number
  readonly interval: number | null
}

export type ProcessCells = Cells<typeof PROCESS_COLUMNS>
export type DeviceCells = Cells<typeof DEVICE_COLUMNS>

export type ProcessSample = { readonly kind: 'process' | 'thread' } & RowOrigin &
  Moment &
  ProcessCells
export type DeviceSample = { readonly kind: 'device' } & RowOrigin & Moment & DeviceCells

/** A row: one process, thread or device at one timepoint of one log. */
export type Sample = ProcessSample | DeviceSample
